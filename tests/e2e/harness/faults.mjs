// SPDX-License-Identifier: MIT
//
// What a build with fault points can do for a test: cheap passwords, and
// deadlines that are a part of the real ones.  On the release build, on which
// full runs repeat the same files, everything is as it is for users.

const FAULTS = process.env.TWINBOXD_FAULTS !== undefined;

/** Environment of a server whose passwords cost what they cost users. */
export const REAL_PASSWORDS = { TWINBOX_CHEAP_PASSWORDS: undefined };

/**
 * The fixed times of a server (server/base/timing.h) whose names begin with
 * ${name}, divided by ${by}: `env` is for the server, ms() turns a real time in
 * milliseconds into what that server takes for it.
 */
export function scaledTimes(name, by)
{
	return {
		env: { TWINBOX_TIME_SCALE: FAULTS ? `${name}=${by}` : undefined },
		ms: (real) => Math.ceil(real / (FAULTS ? by : 1)),
	};
}

/**
 * Environment of a server whose fixed times that begin with one of ${names} are
 * ${by} times as long, besides what the environment of the test says: for times
 * that would be too short for a client on a machine that has much else to do.
 */
export function longerTimes(names, by)
{
	const items = names.map((name) => `${name}=1/${by}`);

	if (process.env.TWINBOX_TIME_SCALE)
		items.unshift(process.env.TWINBOX_TIME_SCALE);
	return { TWINBOX_TIME_SCALE: FAULTS ? items.join(',') : undefined };
}
