# SPDX-License-Identifier: MIT
# What a reader wants to see of the TAP of node's test runner: the tests of the
# first level, every failure with what it says, and diagnostics ("# ...").
{ match($0, /^ */); indent = RLENGTH }

# The lines of a text that begins behind its name ("error: |-").
left > 0 && indent > outer { print; fflush(); left--; next }
{ left = 0 }

/^ *# Subtest:/ || /^ +ok / || /^# (tests|suites|skipped|todo|duration_ms) / { next }
/^ *(not ok|ok|# )/ || /(error|expected|actual|message|stack):/ || /^ +at / {
	print
	# What has been reached is seen, should the runner be ended.
	fflush()
	if (/: [|>]-?$/) {
		left = 12
		outer = indent
	}
}
