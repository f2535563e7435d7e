/* SPDX-License-Identifier: MIT */
/*
 * See owner.h.
 */
#include "base/owner.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "base/htab.h"

void
network_of(const char *peer, char ret[NETWORK_SIZE])
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	struct in6_addr in6;
	size_t n = strcspn(peer, "%"); /* cut off the zone, "%eth0" */

	if (n >= NETWORK_SIZE)
		n = NETWORK_SIZE - 1;
	memcpy(ret, peer, n);
	ret[n] = '\0';
	if (inet_pton(AF_INET6, ret, &in6) != 1)
		return;
	if (memcmp(in6.s6_addr, mapped, sizeof(mapped)) == 0) {
		(void)inet_ntop(AF_INET, in6.s6_addr + 12, ret, NETWORK_SIZE);
		return;
	}
	memset(in6.s6_addr + 8, 0, 8);
	(void)inet_ntop(AF_INET6, &in6, ret, NETWORK_SIZE);
	n = strlen(ret);
	(void)snprintf(ret + n, NETWORK_SIZE - n, "/64");
}

uint64_t
owner_user(int64_t user_id)
{

	return (htab_hash(&user_id, sizeof(user_id)));
}

uint64_t
owner_destination(int64_t destination_id)
{
	/* Keeps a destination apart from a user with the same id. */
	const struct {
		char kind[8];
		int64_t id;
	} of = {"server", destination_id};

	return (htab_hash(&of, sizeof(of)));
}

uint64_t
owner_peer(const char *peer)
{
	char network[NETWORK_SIZE];

	network_of(peer, network);
	return (htab_hash(network, strlen(network)));
}
