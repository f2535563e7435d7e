/* SPDX-License-Identifier: MIT */
/*
 * The address to listen on: checks its text without using the network.
 */
#include <arpa/inet.h>
#include <string.h>

#include "config/config_internal.h"

static bool
port_valid(const char *text)
{
	int v;

	for (v = 0; *text >= '0' && *text <= '9' && v <= 65535; text++)
		v = v * 10 + (*text - '0');
	return (*text == '\0' && v <= 65535 && text[-1] != ':');
}

bool
config_listen_check(char text[CONFIG_TEXT_SIZE], bool *ret_is_loopback)
{
	static const char local[] = "localhost:";
	char host[INET6_ADDRSTRLEN + 2];
	struct in6_addr v6;
	struct in_addr v4;
	char *colon;
	size_t n;

	if (strncmp(text, local, sizeof(local) - 1) == 0) {
		/* "127.0.0.1" and "localhost" have the same length. */
		memcpy(text, "127.0.0.1", 9);
	}
	colon = strrchr(text, ':');
	if (colon == NULL || !port_valid(colon + 1))
		return (false);
	n = (size_t)(colon - text);
	if (n >= sizeof(host))
		return (false);
	memcpy(host, text, n);
	host[n] = '\0';
	if (inet_pton(AF_INET, host, &v4) == 1) {
		*ret_is_loopback = ntohl(v4.s_addr) >> 24 == 127;
		return (true);
	}
	if (n < 2 || host[0] != '[' || host[n - 1] != ']')
		return (false);
	host[n - 1] = '\0';
	if (inet_pton(AF_INET6, host + 1, &v6) != 1)
		return (false);
	*ret_is_loopback = IN6_IS_ADDR_LOOPBACK(&v6);
	return (true);
}
