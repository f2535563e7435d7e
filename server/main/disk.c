/* SPDX-License-Identifier: MIT */
/*
 * The low-disk mark, the flag disk_low of the server.  disk_look() sets it
 * while the disk of an SQLite database has less free space than disk-reserve.
 * New messages are then refused, so that deliveries, acks, reads and operators'
 * commands still find space.  Users get the problem storage-full; other servers
 * get inbox-full, a temporary refusal, after which they send the message again.
 * The flag is always false if disk-reserve is 0, and on PostgreSQL.  If
 * statvfs() fails, disk_look() sets the flag to false, too.
 */
#include <inttypes.h>
#include <sys/statvfs.h>

#include "log/log.h"
#include "main/server.h"

/* Returns the free bytes on the disk of ${path}; -1 if statvfs() fails. */
static int64_t
free_bytes(const char *path)
{
	struct statvfs fs;

	if (statvfs(path, &fs) != 0)
		return (-1);
	return ((int64_t)fs.f_bavail * (int64_t)fs.f_frsize);
}

void
disk_look(void *arg, struct db *db)
{
	struct server *s = arg;
	const int64_t reserve = s->config.disk_reserve_bytes;
	int64_t room;
	bool low;

	/* PostgreSQL's disk is not this server's to watch: PostgreSQL reports
	 * when it is full. */
	if (reserve == 0 || db_multi_writer(db))
		return;
	room = free_bytes(s->db_options.url + sizeof("sqlite:") - 1);
	low = room >= 0 && room < reserve;
	metrics_set(s->metrics, METRIC_DISK_ROOM, room < 0 ? 0 : room);
	metrics_set(s->metrics, METRIC_DISK_LOW, low);
	if (low == atomic_exchange(&s->disk_low, low))
		return;
	if (low)
		log_event(LOG_EV_STORE_LOW,
		    "free=%" PRId64 " reserve=%" PRId64
		    " cure=free room on the disk of the database",
		    room, reserve);
	else
		log_event(LOG_EV_STORE_ROOM, "free=%" PRId64, room);
}
