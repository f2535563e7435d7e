/* SPDX-License-Identifier: MIT */
/*
 * Reports the state of a start or stop to the service manager.  The protocol is
 * that of sd_notify(3): a datagram of lines to the socket that NOTIFY_SOCKET
 * names.  Nothing else of libsystemd is needed, so the library is not linked.
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

/* Makes the socket address ${name}: an absolute path, or "@name", an abstract
 * socket, which has no file.  Returns the length of the address, or 0 if
 * ${name} has another form or is too long. */
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
