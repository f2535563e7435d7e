// SPDX-License-Identifier: MIT
//
// The harness of the end-to-end and fault tests.  It runs the real twinboxd in
// a fresh directory and uses it as any client would, with fetch and the ws
// package.  It promises that every process and directory it made is gone when
// the test process ends, that a failure shows the server's log, and that every
// answer and frame is checked by contract.mjs.  The harness knows nothing about
// the inside of the server.
//
// Each file in harness/ holds one concept; tests import from here.
//
//	const server = await startServer();
//	const [alice, bob] = await users(server, 'alice', 'bob');
//	await alice.send('bob', 'hello');
//
// Environment: TWINBOXD names the program (default build/twinboxd),
// TWINBOX_SLOW=5 multiplies all time-outs by five (for sanitizers),
// TWINBOX_KEEP=1 keeps the directories, TWINBOX_LOG=1 shows the logs.

export * from './harness/flaky.mjs';
export * from './harness/process.mjs';
export * from './harness/faults.mjs';
export * from './harness/server.mjs';
export * from './harness/rest.mjs';
export * from './harness/receive.mjs';
export * from './harness/seed.mjs';
export * from './harness/stream.mjs';
export * from './harness/users.mjs';
export * from './harness/ws.mjs';
