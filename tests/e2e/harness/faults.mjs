// SPDX-License-Identifier: MIT
//
// Features of a build with fault points that tests use: cheap password hashes,
// and shorter or longer fixed times.  Full runs repeat the same tests on the
// release build.  There these functions change nothing, and everything is as it
// is for users.

const FAULTS = process.env.TWINBOXD_FAULTS !== undefined;

/** Environment of a server whose password hashes cost as much as for users. */
export const REAL_PASSWORDS = { TWINBOX_CHEAP_PASSWORDS: undefined };

/**
 * Divides the fixed times of a server (server/base/timing.h) whose names begin
 * with ${name} by ${by}.  `env` is the environment for the server. ms()
 * converts a real time in milliseconds into the time that this server uses.
 */
export function scaledTimes(name, by)
{
	return {
		env: { TWINBOX_TIME_SCALE: FAULTS ? `${name}=${by}` : undefined },
		ms: (real) => Math.ceil(real / (FAULTS ? by : 1)),
	};
}

/**
 * Returns the environment of a server whose fixed times that begin with one of
 * ${names} are multiplied by ${by}, in addition to what the environment of the
 * test says.  It is for times that would be too short for a client on a busy
 * machine.
 */
export function longerTimes(names, by)
{
	const items = names.map((name) => `${name}=1/${by}`);

	if (process.env.TWINBOX_TIME_SCALE)
		items.unshift(process.env.TWINBOX_TIME_SCALE);
	return { TWINBOX_TIME_SCALE: FAULTS ? items.join(',') : undefined };
}
