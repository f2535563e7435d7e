/* SPDX-License-Identifier: MIT */
/*
 * The table of commands.  Arguments are read by it and every --help is printed
 * from it; what a command does is in cmd_*.c, tail.c and chat.c.
 */
#include "cli/cli.h"

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

static const struct option send_options[] = {
    {"conversation", 0, "ID", "to a conversation instead of TO"},
    {"id", 0, "UUID", "its id; the same id never sends twice"},
    {"key", 0, "TEXT", "the same, from any text"},
    {"wait", 0, "delivered|read", "until it is that far"},
    {"timeout", 0, "TIME", "how long to wait for that (30s)"},
    {"try-for", 0, "TIME",
	"how long to try while the server is away\n"
	"(15s); then it is kept and goes out later"},
    {"in", 0, "TIME", "deliver it then: 30m, 2h"},
    {"at", 0, "WHEN", "deliver it then: 2030-01-31T09:00:00Z"},
    {"expires-in", 0, "TIME", "give up after that time"},
    {"priority", 0, "low|normal|high", "normal is the default"},
    {"content-type", 0, "TYPE", "text/plain is the default"},
    {"reply-to", 0, "ID", "the message that this one answers"},
    {"correlation-id", 0, "TEXT", "a text of yours to find it by"},
    {"metadata", 0, "NAME=TEXT", "may be given several times"},
    END,
};

static const struct option inbox_options[] = {
    {"after", 0, "N", "events after number N"},
    {"limit", 0, "N", "at most so many (50)"},
    {"all", 0, NULL, "everything from the beginning"},
    {"wait", 0, "TIME", "wait so long for the first one (at most 55s)"},
    END,
};

static const struct option tail_options[] = {
    {"follow", 'f', NULL, "go on for ever; this is the default"},
    {"once", 0, NULL, "end when everything there is was shown"},
    {"after", 0, "N", "begin after event N, not where it last ended"},
    {"no-ack", 0, NULL, "do not tell the server what was shown"},
    END,
};

static const struct option chat_options[] = {
    {"history", 0, "N", "show the last N messages first (20)"},
    END,
};

static const struct option read_options[] = {
    {"upto", 0, "SEQ", "all up to this number of the inbox"},
    {"conversation", 0, "ID", "one conversation, together with"},
    {"upto-conversation-seq", 0, "N", "its messages up to number N"},
    {"private", 0, NULL, "tell nobody"},
    END,
};

static const struct option outbox_options[] = {
    {"state", 0, "STATE",
	"only pending, sent, acked, failed, expired,\n"
	"canceled, scheduled, retrying or read ones"},
    {"limit", 0, "N", "at most so many (50)"},
    {"before", 0, "CURSOR", "older ones, as the page before says"},
    END,
};

static const struct option history_options[] = {
    {"conversation", 0, "ID", "of a conversation instead of NAME"},
    {"limit", 0, "N", "at most so many (50)"},
    {"before", 0, "N", "before number N of the conversation"},
    {"offline", 0, NULL, "what this computer has seen, without the server"},
    END,
};

const struct command cli_commands[] = {
    {"register", "NAME", "make an account and log in",
	"The password is asked for.  NAME has up to 32 of a-z 0-9 . _ -",
	register_options, 1, 1, NEEDS_SERVER, cmd_register},
    {"login", "NAME", "log in and remember it in a profile",
	"The password is asked for.  Several accounts: --profile.",
	login_options, 1, 1, NEEDS_SERVER, cmd_login},
    {"logout", "", "revoke this device and forget it", "", NULL, 0, 0,
	NEEDS_LOGIN, cmd_logout},
    {"whoami", "", "account, device, server and profile", "", NULL, 0, 0,
	NEEDS_LOGIN, cmd_whoami},
    {"send", "TO TEXT... | TO -", "send a message",
	"With - the text is read from standard input.  A text that begins\n"
	"with - stands after --.  What cannot be sent now is kept on this\n"
	"computer and goes out, once, with a later command.",
	send_options, 1, -1, NEEDS_LOGIN, cmd_send},
    {"inbox", "", "show what has come since the last ack",
	"Nothing is marked by looking; see ack and read.", inbox_options, 0, 0,
	NEEDS_FLUSH, cmd_inbox},
    {"tail", "", "show events as they come, without end",
	"It goes on where it last ended, also after the server was away, and\n"
	"acks what it has shown.  With --json: one event a line.",
	tail_options, 0, 0, NEEDS_LOGIN, cmd_tail},
    {"chat", "NAME", "talk with somebody",
	"Type and press Enter.  /help lists what else there is.", chat_options,
	1, 1, NEEDS_LOGIN, cmd_chat},
    {"read", "--upto SEQ | --conversation ID --upto-conversation-seq N",
	"mark messages as read", "Their senders are told, unless --private.",
	read_options, 0, 0, NEEDS_FLUSH, cmd_read},
    {"ack", "SEQ", "tell the server that this device has all up to SEQ", "",
	NULL, 1, 1, NEEDS_FLUSH, cmd_ack},
    {"outbox", "[ID | cancel ID | retry ID]",
	"what became of what you have sent",
	"cancel takes back what has not left; retry tries a failed or waiting\n"
	"one now.",
	outbox_options, 0, 2, NEEDS_LOGIN, cmd_outbox},
    {"history", "NAME", "the messages of a conversation", "", history_options,
	0, 1, NEEDS_FLUSH, cmd_history},
    {"conversations", "", "your conversations, the newest first", "", NULL, 0,
	0, NEEDS_FLUSH, cmd_conversations},
    {"devices", "[revoke ID]", "devices that are logged in",
	"revoke logs one of them out.", NULL, 0, 2, NEEDS_LOGIN, cmd_devices},
    {NULL, NULL, NULL, NULL, NULL, 0, 0, NEEDS_NOTHING, NULL},
};
