/* SPDX-License-Identifier: MIT */
/*
 * Settings.  One table makes the members of struct config, the flags, the
 * environment variables, the lines of the file, --help, the sample file and the
 * output of check-config.  Flags override the environment, which overrides the
 * file.
 *
 * Ownership: main (the module server/main/) removes the subcommand and its own
 * flags (such as --admin of `user add`) from the arguments and passes the rest
 * to config_parse(), which fills a struct config of the caller.  Only main
 * changes settings after that: in a copy of the struct, with which it opens
 * another database, or before it starts the server again in the same process.
 * main copies what each module needs into the options of that module; no other
 * module includes this header.  All texts are inside struct config; only the
 * operands point into argv.  So the struct is large, about 52 KiB: the stack of
 * the main thread has room for a few, the stack of another thread may be too
 * small.
 */
#ifndef CONFIG_CONFIG_H
#define CONFIG_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "net/domain.h"

#define CONFIG_TEXT_SIZE 512
#define CONFIG_LIST_MAX 16
#define CONFIG_ORIGIN_SIZE 128
#define CONFIG_OPERANDS_MAX 8

/* The value "default" of rate-limit: requests per second and user. */
#define CONFIG_RATE_DEFAULT 50

#define CONFIG_SECOND INT64_C(1000)
#define CONFIG_DAY (86400 * CONFIG_SECOND)
#define CONFIG_MIB INT64_C(1048576)

/*
 * X(type, member, name, default, min, max, argument, help)
 *
 * The flag is --name (a BOOL may also be --no-name), the variable TWINBOX_NAME
 * in upper case with '_' for '-', the line in the file "name = value".  The
 * member is called member_ms for a DURATION and member_bytes for a SIZE.  min
 * and max, inclusive, are in the unit of the member: milliseconds, bytes, or a
 * plain number (of a RATE: per second).  They are 0 for types that are not
 * numbers.  argument is the form of the value in --help; for a CHOICE it lists
 * all values.
 */
#define CONFIG_TABLE(X)                                                         \
	X(TEXT, listen, "listen", "127.0.0.1:8080", 0, 0, "HOST:PORT",          \
	    "Where to listen; port 0 takes a free one.  Anything but loopback " \
	    "needs behind-proxy or insecure")                                   \
	X(TEXT, data, "data", "./twinbox-data", 0, 0, "DIR",                    \
	    "Directory of the database, the lock and the control socket")       \
	X(TEXT, db, "db", "", 0, 0, "URL",                                      \
	    "The database, sqlite:PATH or postgresql://HOST/NAME; if empty, "   \
	    "sqlite:DATA/twinbox.db")                                           \
	X(DURATION, database_wait, "database-wait", "5m", 0, CONFIG_DAY,        \
	    "TIME",                                                             \
	    "How long a start waits for a PostgreSQL that is away or whose "    \
	    "standbys do not confirm; a running node waits for ever")           \
	X(TEXT, domain, "domain", "localhost", 0, 0, "NAME",                    \
	    "The domain of the addresses of this server's users; it must "      \
	    "never change once messages have gone to or come from another "     \
	    "server")                                                           \
	X(BOOL, demo, "demo", "false", 0, 0, "BOOL",                            \
	    "Make demo users in an empty database and open registration; "      \
	    "only on loopback")                                                 \
	X(CHOICE, registration, "registration", "closed", 0, 0, "open|closed",  \
	    "Whether strangers may register accounts")                          \
	X(RATE, rate_limit, "rate-limit", "default", 1, 1000000,                \
	    "off|default|N/s",                                                  \
	    "Requests a second that a user may make; default is 50/s")          \
	X(INT, registration_rate, "registration-rate", "60", 0, 1000000, "N",   \
	    "Registrations a minute of all networks together; five minutes' "   \
	    "worth may come at once.  0: no limit.  Not applied where "         \
	    "rate-limit is off")                                                \
	X(INT, quota_messages, "quota-messages", "500000", 0, 1000000000, "N",  \
	    "Messages that a user may send a day (UTC); 0: no quota")           \
	X(SIZE, quota, "quota-bytes", "2GiB", 0, 1048576 * CONFIG_MIB, "SIZE",  \
	    "Bytes of text and metadata that a user may send a day (UTC); 0B: " \
	    "no quota")                                                         \
	X(INT, max_pending, "max-pending", "1000", 1, 1000000000, "N",          \
	    "Messages of one sender that may wait for delivery")                \
	X(INT, max_pending_total, "max-pending-total", "1000000", 1,            \
	    1000000000, "N",                                                    \
	    "Messages of all senders that may wait for delivery")               \
	X(INT, http_loops, "http-loops", "2", 1, 64, "N",                       \
	    "Threads that serve HTTP")                                          \
	X(INT, readers, "readers", "2", 1, 64, "N",                             \
	    "Threads that read the database")                                   \
	X(INT, argon2_threads, "argon2-threads", "1", 1, 16, "N",               \
	    "Threads that check passwords, 64 MiB each")                        \
	X(CHOICE, log_level, "log-level", "info", 0, 0,                         \
	    "debug|info|warn|error", "The least level that is logged")          \
	X(CHOICE, log_format, "log-format", "text", 0, 0, "text|json",          \
	    "Form of a line in the log, and of what a start prints")            \
	X(CIDRS, behind_proxy, "behind-proxy", "", 0, 0, "CIDR,...",            \
	    "Networks of the proxies that do TLS: Forwarded and "               \
	    "X-Forwarded-For of their requests name the client, nobody "        \
	    "else's do")                                                        \
	X(CIDRS, metrics_networks, "metrics-networks", "127.0.0.0/8,::1", 0,    \
	    0, "CIDR,...",                                                      \
	    "Networks that may read /metrics, which needs no token; if empty, " \
	    "nobody")                                                           \
	X(BOOL, insecure, "insecure", "false", 0, 0, "BOOL",                    \
	    "Listen beyond loopback without a proxy: passwords and messages "   \
	    "go over the network in the clear")                                 \
	X(ORIGINS, allow_origin, "allow-origin", "", 0, 0, "ORIGIN,...",        \
	    "Origins besides our own whose pages may use the API "              \
	    "(https://chat.example)")                                           \
	X(BOOL, page_worker, "page-worker", "true", 0, 0, "BOOL",               \
	    "Let the chat page keep its own files in the browser, so that "     \
	    "it opens while the server is away; if false, what browsers "       \
	    "have kept is deleted at the next visit")                           \
	X(CHOICE, federation, "federation", "off", 0, 0, "off|list|open",       \
	    "Which other servers exchange messages with this one: none; "       \
	    "those of federation-allow and federation-peer; or all but those "  \
	    "of federation-deny")                                               \
	X(URL, federation_url, "federation-url", "", 0, 0, "URL",               \
	    "Where other servers reach this one, https://HOST; HOST is the "    \
	    "domain or a name below it.  If empty, https://DOMAIN")             \
	X(DOMAINS, federation_allow, "federation-allow", "", 0, 0,              \
	    "DOMAIN,...",                                                       \
	    "The servers that federation list means, up to 64: b.example for "  \
	    "that one, .example.org for every one below example.org")           \
	X(DOMAINS, federation_deny, "federation-deny", "", 0, 0, "DOMAIN,...",  \
	    "Servers that are refused in any case, up to 64, written as in "    \
	    "federation-allow")                                                 \
	X(CIDRS, federation_networks, "federation-networks", "", 0, 0,          \
	    "CIDR,...",                                                         \
	    "Private networks in which other servers may be contacted; if "     \
	    "empty, only public addresses are")                                 \
	X(TEXT, federation_ca, "federation-ca", "", 0, 0, "FILE",               \
	    "Certificates (PEM) of the authorities that the certificates of "   \
	    "other servers must come from, instead of the system's")            \
	X(PEERS, federation_peer, "federation-peer", "", 0, 0,                  \
	    "DOMAIN=URL,...",                                                   \
	    "Fixed URLs of up to 16 other servers, for tests and closed "       \
	    "networks; http only to loopback.  Refused together with "          \
	    "behind-proxy")                                                     \
	X(INT, federation_new_domains, "federation-new-domains", "50", 0,       \
	    1000000, "N",                                                       \
	    "Servers that nobody here has written to or heard of, to whose "    \
	    "people one user may write in a day, counted by each node; 0: any") \
	X(INT, connection_limit, "connection-limit", "10000", 1, 1000000, "N",  \
	    "HTTP connections at once")                                         \
	X(INT, connections_per_address, "connections-per-address", "256", 0,    \
	    1000000, "N",                                                       \
	    "HTTP connections of one address at once (of IPv6: of a /64); 0: "  \
	    "no limit.  Never applied behind-proxy, and on loopback only "      \
	    "when it is set")                                                   \
	X(SIZE, request_memory, "request-memory", "64MiB", 4 * CONFIG_MIB,      \
	    65536 * CONFIG_MIB, "SIZE",                                         \
	    "Memory for all request bodies that are being read; one user or "   \
	    "address has a quarter.  Bodies up to 8 KiB do not count")          \
	X(SIZE, answer_memory, "answer-memory", "64MiB", 8 * CONFIG_MIB,        \
	    65536 * CONFIG_MIB, "SIZE",                                         \
	    "Memory for all answers that their clients have not read yet; one " \
	    "user has a quarter.  Answers up to 64 KiB do not count")           \
	X(INT, ws_limit, "ws-limit", "20000", 1, 1000000, "N",                  \
	    "WebSocket sessions at once")                                       \
	X(DURATION, request_deadline, "request-deadline", "15s",                \
	    CONFIG_SECOND, 600 * CONFIG_SECOND, "TIME",                         \
	    "The longest time from the first byte of a request to its last")    \
	X(DURATION, idle_deadline, "idle-deadline", "60s", CONFIG_SECOND,       \
	    3600 * CONFIG_SECOND, "TIME",                                       \
	    "How long a connection may be idle between requests")               \
	X(DURATION, drain_deadline, "drain-deadline", "10s", CONFIG_SECOND,     \
	    600 * CONFIG_SECOND, "TIME", "The longest that a stop may take")    \
	X(DURATION, expiry, "expiry", "5d", 60 * CONFIG_SECOND,                 \
	    366 * CONFIG_DAY, "TIME",                                           \
	    "When a message that cannot be delivered is given up")              \
	X(CHOICE, retry_profile, "retry-profile", "chat", 0, 0, "chat|relay",   \
	    "When a message that its destination refuses for now is offered "   \
	    "again: after 1 2 4 8 16 32 60 s, 10 times; or after 30 s, 1 2 5 "  \
	    "min, 5 times")                                                     \
	X(DURATION, delivery_timeout, "delivery-timeout", "20s",                \
	    CONFIG_SECOND, 300 * CONFIG_SECOND, "TIME",                         \
	    "How long another server may take to answer")                       \
	X(DURATION, lease, "lease", "60s", 2 * CONFIG_SECOND,                   \
	    3600 * CONFIG_SECOND, "TIME",                                       \
	    "How long messages are a relay's alone while they are on their "    \
	    "way; at least three times delivery-timeout")                       \
	X(DURATION, ack_timeout, "ack-timeout", "60s", CONFIG_SECOND,           \
	    86400 * CONFIG_SECOND, "TIME",                                      \
	    "How long another server that said \"later\" may take to say more") \
	X(DURATION, requeue_window, "requeue-window", "7d", 0,                  \
	    366 * CONFIG_DAY, "TIME",                                           \
	    "How long after its creation a failed message can be "              \
	    "requeued")                                                         \
	X(DURATION, dedup_retention, "dedup-retention", "14d",                  \
	    60 * CONFIG_SECOND, 3660 * CONFIG_DAY, "TIME",                      \
	    "How long duplicates are recognised; at least expiry and "          \
	    "requeue-window together")                                          \
	X(DURATION, retention, "retention", "7d", CONFIG_SECOND,                \
	    3660 * CONFIG_DAY, "TIME",                                          \
	    "How long the outbox row of an acked message is kept, and what "    \
	    "is known of attempts.  Messages and inboxes are kept")             \
	X(DURATION, dead_letter_retention, "dead-letter-retention", "30d",      \
	    CONFIG_SECOND, 3660 * CONFIG_DAY, "TIME",                           \
	    "How long a dead letter is kept after it was dealt with")           \
	X(DURATION, audit_retention, "audit-retention", "400d", CONFIG_SECOND,  \
	    36600 * CONFIG_DAY, "TIME",                                         \
	    "How long entries of the audit log are kept")                       \
	X(DURATION, peer_retention, "peer-retention", "1d", CONFIG_SECOND,      \
	    3660 * CONFIG_DAY, "TIME",                                          \
	    "How long another server is remembered whose document was read "    \
	    "and of which nobody has written or been written to")               \
	X(TEXT, archive, "archive", "", 0, 0, "DIR",                            \
	    "Where rows are written before they are purged, a file of JSON "    \
	    "lines a day, without bodies; if empty, nowhere.  Outside of data " \
	    "the systemd unit needs ReadWritePaths for it")                     \
	X(INT, purge_rate, "purge-rate", "2000", 1, 20000, "N",                 \
	    "The most rows a second that purging reads")                        \
	X(INT, scrub_rate, "scrub-rate", "200", 0, 100000, "N",                 \
	    "Rows a second that the scrubber reads to find damage; 0 is none")  \
	X(DURATION, alert_interval, "alert-interval", "60s", CONFIG_SECOND,     \
	    3600 * CONFIG_SECOND, "TIME",                                       \
	    "How often the server evaluates and logs its alerts")               \
	X(SIZE, checkpoint_size, "checkpoint-size", "128MiB", CONFIG_MIB,       \
	    1024 * CONFIG_MIB, "SIZE",                                          \
	    "Size of the write-ahead log that asks for a checkpoint")           \
	X(SIZE, disk_reserve, "disk-reserve", "256MiB", 0,                      \
	    1099511627776 * CONFIG_MIB, "SIZE",                                 \
	    "New messages are refused while the disk of the database has less " \
	    "room than this; accepted ones are delivered, acked and read as "   \
	    "ever.  0B: no reserve.  On PostgreSQL it has no effect")           \
	X(BOOL, accept_rollback, "accept-rollback", "false", 0, 0, "BOOL",      \
	    "Start with a database that is older than its mark (a restored "    \
	    "back-up); this changes the epoch.  On PostgreSQL, which has no "   \
	    "mark, it is always changed: say it once")

/* A network.  IPv4 is stored as ::ffff:a.b.c.d with 96 more bits. */
struct config_cidr {
	uint8_t address[16];
	int bits;
};

struct config_cidrs {
	int n;
	struct config_cidr list[CONFIG_LIST_MAX];
};

struct config_origins {
	int n;
	char list[CONFIG_LIST_MAX][CONFIG_ORIGIN_SIZE];
};

struct config_peers {
	int n;
	struct domain_peer list[CONFIG_LIST_MAX]; /* with different domains */
};

/* The values of settings of type CHOICE, in the order in which the column
 * "argument" of CONFIG_TABLE lists them.  The values of log-level, log-format
 * and retry-profile are enum log_level, enum log_format and enum
 * retry_profile. */
enum config_registration { REGISTRATION_OPEN, REGISTRATION_CLOSED };
enum config_federation { FEDERATION_OFF, FEDERATION_LIST, FEDERATION_OPEN };

#define CONFIG_MEMBER_TEXT(member) char member[CONFIG_TEXT_SIZE];
#define CONFIG_MEMBER_BOOL(member) bool member;
#define CONFIG_MEMBER_CHOICE(member) int member;
#define CONFIG_MEMBER_RATE(member) int64_t member; /* a second; 0: off */
#define CONFIG_MEMBER_INT(member) int64_t member;
#define CONFIG_MEMBER_DURATION(member) int64_t member##_ms;
#define CONFIG_MEMBER_SIZE(member) int64_t member##_bytes;
#define CONFIG_MEMBER_CIDRS(member) struct config_cidrs member;
#define CONFIG_MEMBER_ORIGINS(member) struct config_origins member;
/* The host is "" if the setting has no value. */
#define CONFIG_MEMBER_URL(member) struct domain_url member;
#define CONFIG_MEMBER_DOMAINS(member) struct domain_list member;
#define CONFIG_MEMBER_PEERS(member) struct config_peers member;

enum config_setting {
#define X(type, member, name, def, min, max, arg, help) CONFIG_##member,
	CONFIG_TABLE(X)
#undef X
	    CONFIG_COUNT
};

/* The source of a value. */
enum config_source {
	CONFIG_FROM_DEFAULT,
	CONFIG_FROM_FILE,
	CONFIG_FROM_ENVIRONMENT,
	CONFIG_FROM_FLAG,
	CONFIG_FROM_DEMO /* demo has replaced the default */
};

struct config {
#define X(type, member, name, def, min, max, arg, help)                        \
	CONFIG_MEMBER_##type(member)
	CONFIG_TABLE(X)
#undef X

	bool is_loopback;            /* listen is an address of loopback */
	char file[CONFIG_TEXT_SIZE]; /* --config; "": none */
	bool help;                   /* --help was given: show it, end */
	bool version;                /* --version was given */
	/* config_parse() failed because a flag is unknown, without value, or
	 * given twice, or there are too many operands; not if the value of a
	 * flag is not valid. */
	bool misused;
	const char *operands[CONFIG_OPERANDS_MAX]; /* borrowed from argv */
	int noperands;

	enum config_source source[CONFIG_COUNT];
	int line[CONFIG_COUNT]; /* of the file, if the value is from there */
};

/* Returns the value of an environment variable, NULL if it is not set.
 * getenv() is such a function. */
typedef char *(*config_env_fn)(const char *name);

/* Fills ${ret} from ${argc} arguments at ${argv} (those after the program's
 * name and the subcommand), the environment (read by ${env}) and the file that
 * --config or else TWINBOX_CONFIG names.  An empty variable counts as not set.
 * After --help or --version, no further argument is read, and neither are the
 * environment and the file: the settings then have their defaults.  If anything
 * is wrong, returns RC_INVALID with the place and the cure in ${err}; if the
 * file cannot be opened, returns the result of rc_of_opening(); RC_IO or
 * RC_NO_MEMORY if it cannot be read to its end.  After a failure only
 * ${ret}->misused has a meaning. */
enum rc config_parse(int argc, char **argv, config_env_fn env,
    struct config *ret, struct err *err) MUST_USE;

/* Checks that ${url} begins with "sqlite:", "postgresql://" or "postgres://",
 * has more text after that, and contains no password.  Does not access the
 * database.  Returns RC_INVALID with the cure in ${err}, whose text begins with
 * ${name}, the name of the setting or flag. */
enum rc config_check_url(
    const char *name, const char *url, struct err *err) MUST_USE;

/* Calls ${warn} once for each warning about valid settings: networks of
 * behind-proxy and, if federation is on, of federation-networks that are wider
 * than any private network; and settings of federation that have no effect or
 * shut out other servers.  ${text}, borrowed during the call, begins with the
 * name of the setting and ends with the cure.  Returns RC_NO_MEMORY, without
 * the remaining warnings, if there is no memory for a text. */
typedef void (*config_warn_fn)(void *arg, const char *text);
enum rc config_warn(
    const struct config *config, config_warn_fn warn, void *arg) MUST_USE;

/* Appends the flags, variables, defaults (except those of a BOOL) and meanings
 * of all settings, for --help.  main puts the usage line, the commands and
 * their flags before it. */
void config_write_help(struct buf *out);

/* Appends a file with every setting, its meaning and its default, commented
 * out. */
void config_write_sample(struct buf *out);

/* Appends every setting with its value and the source of the value, for
 * check-config.  The result can be used as a file of settings, unless the line
 * of a setting is longer than CONFIG_LINE_LEN: config_parse() refuses such a
 * file (a comment may have any length).  A value that a file cannot have, such
 * as one with " ;", is written as a comment, so config_parse() does not set
 * that setting from the file. */
void config_write(const struct config *config, struct buf *out);

#endif
