/* SPDX-License-Identifier: MIT */
/*
 * The table of commands.  The arguments are parsed with it and every --help is
 * printed from it.  The work of the commands is in cmd_*.c, tail.c, chat.c and
 * top.c.
 */
#include "ops/admin_command.h"

#define END                                                                    \
	{                                                                      \
		NULL, 0, NULL, NULL                                            \
	}

#define PASSWORD_OPTION                                                        \
	{                                                                      \
		"password-stdin", 0, NULL,                                     \
		    "read it from the first line of standard input"            \
	}

#define DEVICE_OPTION                                                          \
	{                                                                      \
		"device", 0, "NAME", "what to call this device"                \
	}

/* The option of all commands that show lists. */
#define PAGE_OPTION                                                            \
	{                                                                      \
		"page", 0, NULL,                                               \
		    "with --json: a whole page as one object, as the\n"        \
		    "server sends it, not an object a line"                    \
	}

static const struct option page_options[] = {
    PAGE_OPTION,
    END,
};

static const struct option devices_options[] = {
    {"others", 0, NULL, "with revoke: all devices but this one"},
    PAGE_OPTION,
    END,
};

static const struct option logout_options[] = {
    {"everywhere", 0, NULL, "revoke all other devices, too"},
    END,
};

static const struct option register_options[] = {
    {"display-name", 0, "TEXT", "the name that people see"},
    DEVICE_OPTION,
    PASSWORD_OPTION,
    {"no-login", 0, NULL, "register only"},
    END,
};

static const struct option login_options[] = {
    DEVICE_OPTION,
    PASSWORD_OPTION,
    END,
};

static const struct option passwd_options[] = {
    {"password-stdin", 0, NULL,
	"read the current password and the new one, a\n"
	"line each, from standard input"},
    END,
};

static const struct option send_options[] = {
    {"conversation", 0, "ID", "to a conversation instead of TO"},
    {"id", 0, "UUID", "its id; the same id never sends twice"},
    {"key", 0, "TEXT", "idempotency key: like --id, but any text"},
    {"wait", 0, "delivered|read", "wait until it is delivered or read"},
    {"timeout", 0, "TIME", "how long --wait waits at most (30s)"},
    {"try-for", 0, "TIME",
	"how long to try while the server is away\n"
	"(15s); then it is kept and goes out later"},
    {"in", 0, "TIME", "deliver it then: 30m, 2h"},
    {"at", 0, "WHEN", "deliver it then: 2030-01-31T09:00:00Z"},
    {"expires-in", 0, "TIME", "give up after that time"},
    {"priority", 0, "low|normal|high", "how urgent it is (normal)"},
    {"content-type", 0, "TYPE", "what the text is (text/plain)"},
    {"reply-to", 0, "ID", "the message that this one answers"},
    {"correlation-id", 0, "TEXT", "a text of yours to find it by"},
    {"metadata", 0, "NAME=TEXT...", "may be given several times"},
    END,
};

static const struct option inbox_options[] = {
    {"after", 0, "N", "events after number N"},
    {"limit", 0, "N", "show at most N (50)"},
    {"all", 0, NULL, "everything from the beginning"},
    {"wait", 0, "TIME", "wait up to TIME for the first one (at most 55s)"},
    PAGE_OPTION,
    END,
};

#define BELL_OPTION                                                            \
	{                                                                      \
		"bell", 0, NULL,                                               \
		    "ring, and notify by OSC 9, when a message comes\n"        \
		    "(or TWINBOX_BELL=1)"                                      \
	}

static const struct option tail_options[] = {
    {"follow", 'f', NULL, "keep following (default)"},
    {"once", 0, NULL, "end when everything there is was shown"},
    {"after", 0, "N", "begin after event N, not where it last ended"},
    {"no-ack", 0, NULL, "do not ack the events that were shown"},
    BELL_OPTION,
    END,
};

static const struct option chat_options[] = {
    {"history", 0, "N", "show the last N messages first (20)"},
    BELL_OPTION,
    END,
};

static const struct option read_options[] = {
    {"all", 0, NULL, "everything in the inbox"},
    {"upto", 0, "SEQ", "everything up to this number of the inbox"},
    {"conversation", 0, "ID",
	"a conversation by its id; needs\n"
	"--upto-conversation-seq as well"},
    {"upto-conversation-seq", 0, "N",
	"the messages of --conversation up to number N"},
    {"private", 0, NULL, "send no read receipts"},
    END,
};

static const struct option outbox_options[] = {
    {"state", 0, "STATE",
	"only pending, sent, acked, failed, expired,\n"
	"canceled, scheduled, retrying or read ones"},
    {"limit", 0, "N", "show at most N (50)"},
    {"before", 0, "CURSOR",
	"older ones: the cursor that the page before shows"},
    PAGE_OPTION,
    END,
};

static const struct option history_options[] = {
    {"conversation", 0, "ID", "of a conversation instead of NAME"},
    {"limit", 0, "N", "show at most N (50)"},
    {"before", 0, "N", "before number N of the conversation"},
    {"offline", 0, NULL, "what this computer has seen, without the server"},
    PAGE_OPTION,
    END,
};

/* The filters of the lists of the admin commands. */
#define DESTINATION_OPTION                                                     \
	{                                                                      \
		"destination", 0, "NAME", "only what goes there"               \
	}

#define SENDER_OPTION                                                          \
	{                                                                      \
		"sender", 0, "USER", "only what this user has sent"            \
	}

#define REASON_OPTION                                                          \
	{                                                                      \
		"reason", 0,                                                   \
		    "max_retries|rejected|expired|poison|discarded|too_large", \
		    "only those that ended for this reason"                    \
	}

#define LIMIT_OPTION                                                           \
	{                                                                      \
		"limit", 0, "N", "show at most N (50)"                         \
	}

#define BEFORE_OPTION                                                          \
	{                                                                      \
		"before", 0, "CURSOR",                                         \
		    "older ones: the cursor that the page before shows"        \
	}

#define AFTER_OPTION                                                           \
	{                                                                      \
		"after", 0, "CURSOR",                                          \
		    "further ones: the cursor that the page before shows"      \
	}

#define YES_OPTION                                                             \
	{                                                                      \
		"yes", 0, NULL, "do not ask"                                   \
	}

static const struct option admin_outbox_options[] = {
    {"state", 0, "pending|scheduled|sending|sent|acked|failed|expired|canceled",
	"only those in this state"},
    DESTINATION_OPTION,
    SENDER_OPTION,
    {"stuck", 0, "TIME", "only those being sent for longer than that: 30m"},
    {"near-failure", 0, "N", "only those with at most N retries left"},
    LIMIT_OPTION,
    BEFORE_OPTION,
    PAGE_OPTION,
    END,
};

static const struct option admin_dlq_options[] = {
    REASON_OPTION,
    DESTINATION_OPTION,
    SENDER_OPTION,
    {"resolved", 0, "false|true|any",
	"open ones (the default), those dealt with, or all"},
    {"export", 0, "FILE",
	"write all of them, a JSON object a line, to a\n"
	"new FILE; - is standard output"},
    LIMIT_OPTION,
    BEFORE_OPTION,
    PAGE_OPTION,
    END,
};

static const struct option admin_batch_options[] = {
    {"all", 0, NULL, "all open ones that the other options let through"},
    REASON_OPTION,
    DESTINATION_OPTION,
    SENDER_OPTION,
    {"limit", 0, "N", "at most N, the oldest first"},
    YES_OPTION,
    END,
};

static const struct option admin_pause_options[] = {
    {"reason", 0, "TEXT", "the reason, which other operators see"},
    END,
};

static const struct option admin_lanes_options[] = {
    DESTINATION_OPTION,
    {"state", 0, "local|idle|ready|leased", "only those in this state"},
    LIMIT_OPTION,
    AFTER_OPTION,
    PAGE_OPTION,
    END,
};

static const struct option admin_rewind_options[] = {
    {"since", 0, "WHEN", "what was sent since: 2030-01-31T09:00:00Z"},
    END,
};

static const struct option admin_peers_options[] = {
    {"reason", 0, "TEXT", "with block: why, for the audit log"},
    LIMIT_OPTION,
    AFTER_OPTION,
    PAGE_OPTION,
    END,
};

static const struct option admin_users_options[] = {
    LIMIT_OPTION,
    AFTER_OPTION,
    PAGE_OPTION,
    END,
};

static const struct option admin_audit_options[] = {
    LIMIT_OPTION,
    BEFORE_OPTION,
    PAGE_OPTION,
    END,
};

static const struct option admin_top_options[] = {
    {"interval", 0, "TIME", "how often it looks (2s)"},
    {"view", 0, "overview|destinations|dead|lanes", "the first view"},
    {"once", 0, NULL,
	"print one picture as text and end; with\n"
	"--interval, rates are those of that time"},
    END,
};

const struct command cli_commands[] = {
    {"register", "NAME", "make an account and log in",
	"The password is asked for.  NAME has up to 32 of a-z 0-9 . _ -",
	register_options, 1, 1, NEEDS_SERVER, cmd_register},
    {"login", "NAME", "log in and remember it in a profile",
	"The password is asked for.  After a one-time password of an administrator\n"
	"it asks for a new one at once; with --password-stdin, set one with twinbox\n"
	"passwd.  Several accounts: --profile.",
	login_options, 1, 1, NEEDS_SERVER, cmd_login},
    {"passwd", "", "change your password",
	"The current password and the new one are asked for.  All other devices\n"
	"are logged out.",
	passwd_options, 0, 0, NEEDS_LOGIN, cmd_passwd},
    {"logout", "", "revoke this device and forget it", "", logout_options, 0, 0,
	NEEDS_LOGIN, cmd_logout},
    {"whoami", "", "account, device, server and profile", "", NULL, 0, 0,
	NEEDS_LOGIN, cmd_whoami},
    {"send", "TO TEXT... | TO -", "send a message",
	"With - the text is read from standard input.  A text that begins\n"
	"with - stands after --.  A message that cannot be sent now is kept on this\n"
	"computer and goes out, once, with a later command.",
	send_options, 1, -1, NEEDS_LOGIN, cmd_send},
    {"inbox", "", "show what has come since the last ack",
	"Nothing is marked by looking; see ack and read.", inbox_options, 0, 0,
	NEEDS_FLUSH, cmd_inbox},
    {"tail", "", "show events as they come, without end",
	"It goes on where it last ended, also after the server was away, and\n"
	"acks what it has shown.  With --json: one event a line.",
	tail_options, 0, 0, NEEDS_LOGIN, cmd_tail},
    {"chat", "NAME", "talk with a user",
	"Type and press Enter.  /help lists what else there is.", chat_options,
	1, 1, NEEDS_LOGIN, cmd_chat},
    {"read", "NAME | --all | --upto SEQ | --conversation ID ...",
	"mark messages as read",
	"NAME marks everything that this user has written to you.  The senders\n"
	"get read receipts, unless --private.",
	read_options, 0, 1, NEEDS_FLUSH, cmd_read},
    {"ack", "[SEQ]", "acknowledge events",
	"The server then knows that this device has all events up to number SEQ;\n"
	"without SEQ, all that are in the inbox now.",
	NULL, 0, 1, NEEDS_FLUSH, cmd_ack},
    {"outbox", "[ID | cancel ID | retry ID]",
	"what became of what you have sent",
	"With cancel ID, what has not left is taken back.  With retry ID, a\n"
	"failed or waiting one is tried now.",
	outbox_options, 0, 2, NEEDS_LOGIN, cmd_outbox},
    {"history", "NAME", "the messages of a conversation", "", history_options,
	0, 1, NEEDS_FLUSH, cmd_history},
    {"conversations", "", "your conversations, the newest first", "",
	page_options, 0, 0, NEEDS_FLUSH, cmd_conversations},
    {"devices", "[revoke ID | revoke --others]", "devices that are logged in",
	"With revoke, one of them is logged out, or with --others all but this one.",
	devices_options, 0, 2, NEEDS_LOGIN, cmd_devices},
    {"complete", "names|profiles", "", "", NULL, 1, 1, NEEDS_NOTHING,
	cmd_complete},
    {"admin", "COMMAND", "for administrators: what waits, what failed, why",
	"It needs an administrator's account.  The texts of messages are never\n"
	"shown.",
	NULL, 1, -1, NEEDS_LOGIN, NULL},
    {"admin stats", "", "how much waits, was sent and failed; latency", "",
	NULL, 0, 0, NEEDS_LOGIN, cmd_admin_stats},
    {"admin outbox", "", "messages of all users, the newest first", "",
	admin_outbox_options, 0, 0, NEEDS_LOGIN, cmd_admin_outbox},
    {"admin show", "ID", "one message: attempts, errors, timeline", "", NULL, 1,
	1, NEEDS_LOGIN, cmd_admin_show},
    {"admin retry", "ID", "try a failed or waiting message now",
	"A failed one gets all its retries again.", NULL, 1, 1, NEEDS_LOGIN,
	cmd_admin_retry},
    {"admin discard", "ID | DEAD_ID... | --all",
	"give a message or dead letters up",
	"A waiting message that is discarded comes back to its sender as failed.\n"
	"Dead letters are named by their numbers, or chosen with --all, which asks\n"
	"first.",
	admin_batch_options, 0, -1, NEEDS_LOGIN, cmd_admin_discard},
    {"admin dlq", "", "dead letters, the newest first", "", admin_dlq_options,
	0, 0, NEEDS_LOGIN, cmd_admin_dlq},
    {"admin requeue", "DEAD_ID... | --all", "send dead letters again",
	"They stand behind what waits already.  --all asks first if they are\n"
	"many, and goes on in batches until all are done.",
	admin_batch_options, 0, -1, NEEDS_LOGIN, cmd_admin_requeue},
    {"admin destinations", "", "where messages go: breakers, what waits, ages",
	"The name local stands for the inboxes of this server, * for everything.\n"
	"SENDING is how many go out now and how many may; READY is how many\n"
	"lanes have something to send.",
	page_options, 0, 0, NEEDS_LOGIN, cmd_admin_destinations},
    {"admin pause", "NAME", "send nothing to a destination; * is everything",
	"Messages to it wait, and no attempt is charged.", admin_pause_options,
	1, 1, NEEDS_LOGIN, cmd_admin_pause},
    {"admin resume", "NAME", "send to a destination again", "", NULL, 1, 1,
	NEEDS_LOGIN, cmd_admin_resume},
    {"admin rate", "NAME N", "send at most N a second to a destination",
	"0 takes the limit away.", NULL, 2, 2, NEEDS_LOGIN, cmd_admin_rate},
    {"admin lanes", "", "the queues: a cursor for each conversation", "",
	admin_lanes_options, 0, 0, NEEDS_LOGIN, cmd_admin_lanes},
    {"admin rewind", "LANE SEQ | LANE --since WHEN | NAME --since WHEN",
	"offer again what another server has lost",
	"LANE SEQ offers a lane from place SEQ on.  With --since it begins with\n"
	"the first message that the other server took then or later, by the\n"
	"clock of your server; a NAME stands for all lanes of that destination.\n"
	"Receivers leave out what they have.",
	admin_rewind_options, 1, 2, NEEDS_LOGIN, cmd_admin_rewind},
    {"admin peers", "[show|pin|unpin|forget|block|unblock DOMAIN ...]",
	"other servers and their keys",
	"With show DOMAIN it lists the keys of a server.  With pin DOMAIN KEY-ID\n"
	"PUBLIC it takes a key of that server (base64): from then on only pinned\n"
	"keys are believed.  With unpin DOMAIN KEY-ID it takes the pin back: when\n"
	"no key is pinned any more, the server's document is believed again,\n"
	"which may replace the key.  With forget DOMAIN it deletes keys and pins,\n"
	"so that the server's document is believed again; a block stays.  With\n"
	"block DOMAIN nothing is sent to that server or taken from it, until\n"
	"unblock DOMAIN.",
	admin_peers_options, 0, 4, NEEDS_LOGIN, cmd_admin_peers},
    {"admin users", "[disable|enable|promote|demote|password NAME]",
	"all users",
	"With disable NAME, a user is locked out and all sessions end; enable NAME\n"
	"undoes that, and the user logs in anew.  With promote NAME, a user becomes\n"
	"an administrator; demote NAME ends these rights at once.  With password\n"
	"NAME, the server makes a one-time password and shows it once: it is good\n"
	"for one log-in within 24 hours, and all devices of that user are logged\n"
	"out.",
	admin_users_options, 0, 2, NEEDS_LOGIN, cmd_admin_users},
    {"admin audit", "", "what operators did, the newest first", "",
	admin_audit_options, 0, 0, NEEDS_LOGIN, cmd_admin_audit},
    {"admin top", "", "all of that, live, in a terminal",
	"Left and right, or 1 to 4, change views; up and down, Page Up and Page\n"
	"Down go through what does not fit; r looks at once; q ends it.",
	admin_top_options, 0, 0, NEEDS_LOGIN, cmd_admin_top},
    {NULL, NULL, NULL, NULL, NULL, 0, 0, NEEDS_NOTHING, NULL},
};
