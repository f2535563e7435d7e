# SPDX-License-Identifier: MIT
# Reduces the TAP of node's test runner to what a reader needs: the tests of the
# first level, every failure with its text, and diagnostics ("# ...").
{ match($0, /^ */); indent = RLENGTH }

# The lines of a text that begins after its name ("error: |-").
left > 0 && indent > outer { print; fflush(); left--; next }
{ left = 0 }

/^ *# Subtest:/ || /^ +ok / || /^# (tests|suites|skipped|todo|duration_ms) / { next }
/^ *(not ok|ok|# )/ || /(error|expected|actual|message|stack):/ || /^ +at / {
	print
	# Flushes, so that the output is complete up to here if the runner is
	# killed.
	fflush()
	if (/: [|>]-?$/) {
		left = 12
		outer = indent
	}
}
