// SPDX-License-Identifier: MIT
//
// A test passed, but only because something was tried again that is not what
// the test is about.  Each time is one line "# flaky: WHAT" in the TAP, so that
// whoever runs the tests can count the lines: a retry that nobody sees hides a
// fault that comes once in a hundred runs.

/* The runner of node puts "# " in front of each line that a file prints. */
const MARK = process.env.NODE_TEST_CONTEXT === 'child-v8' ? '' : '# ';

/** Says that ${what} was tried again. */
export function flaky(what)
{
	process.stdout.write(`${MARK}flaky: ${String(what).replaceAll('\n', ' ')}\n`);
}
