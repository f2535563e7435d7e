/* SPDX-License-Identifier: MIT */
/*
 * A sample that every gate must let pass: a route that is not built.
 */
#define NOT_IMPLEMENTED(method, path)                                          \
	{                                                                      \
		method, path                                                   \
	}

struct route {
	const char *method;
	const char *path;
};

extern const struct route routes[];

const struct route routes[] = {{"DELETE", "/things/{name}"}};
