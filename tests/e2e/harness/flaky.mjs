// SPDX-License-Identifier: MIT
//
// Reports that a test passed only because an action was repeated that the test
// is not about.  Each such event is one line "# flaky: WHAT" in the TAP output,
// so that the lines can be counted.  An invisible retry would hide a fault that
// happens once in a hundred runs.

/*
 * The test runner of node puts "# " before each line that a test file prints.
 */
const MARK = process.env.NODE_TEST_CONTEXT === 'child-v8' ? '' : '# ';

/** Reports that ${what} was repeated. */
export function flaky(what)
{
	process.stdout.write(`${MARK}flaky: ${String(what).replaceAll('\n', ' ')}\n`);
}
