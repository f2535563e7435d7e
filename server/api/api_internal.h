/* SPDX-License-Identifier: MIT */
/*
 * Shared by the files of this module: the struct api, rendering, the login
 * throttle, and the handlers.  The directory rest/ has the code that the routes
 * of all modules share.
 */
#ifndef API_API_INTERNAL_H
#define API_API_INTERNAL_H

#include "api/api.h"
#include "base/limits.h"
#include "base/owner.h"
#include "base/uuid.h"
#include "chat/entry.h"
#include "log/log.h"
#include "rest/call.h"
#include "rest/limiter.h"
#include "rest/poll.h"
#include "rest/pool.h"
#include "wire/json.h"
#include "wire/wire.h"

struct login_throttle;

struct api {
	struct api_options o;
	struct limiter *registrations_by_network; /* NULL: no limit */
	struct limiter *registrations;   /* all networks; NULL: no limit */
	struct login_throttle *throttle; /* of wrong passwords */
};

/* Returns the api to which the route of ${call} belongs. */
static inline struct api *
api_of(const struct call *call)
{

	return (call->module);
}

/* Returns the owner of the outbox that ${call} is about: its user. */
static inline struct entry_of
api_outbox_of(const struct call *call)
{

	return ((struct entry_of){
	    call->principal->user_id, api_of(call)->o.max_retries});
}

/* ---- rendering (render.c) ---- */

struct store_history;

/* Appends a message to ${b} as a JSON object, as a history and GET
 * /v1/messages/{id} show it; wire_event() writes the events of an inbox.
 * ${reader_id}: the user who asks, for the member "own".  ${to}: the
 * recipient's name; NULL in a group, which is written as null. */
void render_history(struct buf *b, const struct store_history *m,
    const struct uuid *conversation, int64_t reader_id, const char *to);

/* Appends ${m}, the last message of a conversation, to ${b} as a JSON object,
 * as the list of conversations and a single conversation show it: its text is
 * cut to at most LIMIT_PREVIEW_BYTES, between two characters. */
void render_preview(
    struct buf *b, const struct store_history *m, int64_t reader_id);

/* ---- the login throttle (login_throttle.c) ---- */

/* An attempt to log in. */
struct login_attempt {
	char name[LIMIT_NAME_LEN + 1];
	char network[NETWORK_SIZE];
	bool known; /* this name has logged in from this network */
};

/* Makes a throttle that has seen no attempt.  Returns NULL if there is no
 * memory.  login_throttle_free() accepts NULL. */
struct login_throttle *login_throttle_new(void);
void login_throttle_free(struct login_throttle *throttle);

/* Counts an attempt to verify a password of ${name} from the address ${peer} as
 * failed, until login_throttle_end() takes it back; fills ${ret} for that call.
 * The attempt takes a token from each of these buckets, which refill with time:
 * that of the name in the network of ${peer}, that of this network for all
 * names and, unless this network is known for the name, that of the name in all
 * networks that are not known for it.  If one of them is empty, takes no token
 * from any, sets *ret_wait_s, and returns false; another attempt is allowed
 * after *ret_wait_s seconds at the earliest, and there is nothing to take back.
 * ${now_ms} is monotonic.  Thread: any. */
bool login_throttle_begin(struct login_throttle *throttle,
    const struct span *name, const char *peer, int64_t now_ms,
    struct login_attempt *ret, int *ret_wait_s);

/* Takes back ${attempt}, which login_throttle_begin() has counted: it is then
 * no longer counted as failed.  Call this once for an attempt, but not if the
 * password was wrong.  ${right}: the password was right, and the throttle
 * remembers the network as known for this name, until another pair of name and
 * network takes the place in its table.  False: the password was not verified.
 * Thread: any. */
void login_throttle_end(struct login_throttle *throttle,
    const struct login_attempt *attempt, bool right, int64_t now_ms);

/* ---- handlers ---- */

/* The handlers of the table of routes in api.c; their argument is the struct
 * rest.  api_inbox_stream() is not in the table: api_inbox_get() calls it if
 * the client asks for a stream. */
void api_root_get(struct http_request *req, void *arg);
void api_not_implemented(struct http_request *req, void *arg);
void api_users_post(struct http_request *req, void *arg);
void api_tokens_post(struct http_request *req, void *arg);
void api_tokens_get(struct http_request *req, void *arg);
void api_tokens_delete(struct http_request *req, void *arg);
void api_token_patch(struct http_request *req, void *arg);
void api_token_delete(struct http_request *req, void *arg);
void api_password_post(struct http_request *req, void *arg);
void api_messages_post(struct http_request *req, void *arg);
void api_to_post(struct http_request *req, void *arg);
void api_message_get(struct http_request *req, void *arg);
void api_inbox_get(struct http_request *req, void *arg);
void api_inbox_stream(struct http_request *req, void *arg);
void api_event_get(struct http_request *req, void *arg);
void api_ack_post(struct http_request *req, void *arg);
void api_read_post(struct http_request *req, void *arg);
void api_unread_get(struct http_request *req, void *arg);
void api_outbox_get(struct http_request *req, void *arg);
void api_entry_get(struct http_request *req, void *arg);
void api_entry_retry_post(struct http_request *req, void *arg);
void api_entry_delete(struct http_request *req, void *arg);
void api_conversations_get(struct http_request *req, void *arg);
void api_conversation_get(struct http_request *req, void *arg);
void api_history_get(struct http_request *req, void *arg);

#endif
