// SPDX-License-Identifier: MIT
//
// The harness of the end-to-end and fault tests: runs the real twinboxd in a
// fresh directory and speaks to it as a stranger would, with fetch and the ws
// package.  It promises that every process and directory made here is gone
// when the test process ends, that a failure shows the server's log, and that
// every answer and frame passes through contract.mjs.  Nothing in here knows
// how the server works inside.
//
// One file a concept in harness/; tests import from here.
//
//	const server = await startServer();
//	const [alice, bob] = await users(server, 'alice', 'bob');
//	await alice.send('bob', 'hello');
//
// Environment: TWINBOXD names the program (default build/twinboxd),
// TWINBOX_SLOW=5 makes every patience five times as long (sanitizers),
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
