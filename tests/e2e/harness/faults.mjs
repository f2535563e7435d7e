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
