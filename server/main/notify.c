/* SPDX-License-Identifier: MIT */
/*
 * Telling the service manager how far we are: the protocol of sd_notify(3), a
 * datagram of lines to the socket that NOTIFY_SOCKET names.  That is all of
 * libsystemd that is needed, so it is not linked.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "main/main_internal.h"

/* The address ${name}: a path, or "@name" without a file.  Its length, 0 if it
 * is none that we know. */
static socklen_t
manager_address(const char *name, struct sockaddr_un *ret)
{
	size_t n = strlen(name);

	if ((name[0] != '/' && name[0] != '@') || n < 2 ||
	    n >= sizeof(ret->sun_path))
		return (0);
	*ret = (struct sockaddr_un){.sun_family = AF_UNIX};
	memcpy(ret->sun_path, name, n);
	if (name[0] == '@')
		ret->sun_path[0] = '\0';
	return ((socklen_t)(offsetof(struct sockaddr_un, sun_path) + n));
}

bool
notify_manager(const char *fmt, ...)
{
	const char *name = getenv("NOTIFY_SOCKET");
	struct sockaddr_un addr;
	char text[512];
	socklen_t size;
	va_list ap;
	bool sent;
	int fd, n;

	if (name == NULL || (size = manager_address(name, &addr)) == 0)
		return (false);
	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= sizeof(text))
		return (false);
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return (false);
	sent = sendto(fd, text, (size_t)n, MSG_NOSIGNAL,
		   (const struct sockaddr *)&addr, size) == (ssize_t)n;
	(void)close(fd);
	return (sent);
}
