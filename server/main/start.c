/* SPDX-License-Identifier: MIT */
/*
 * The start: takes the lock of the data directory, opens the database, writes
 * the boot row (the time of this start, store/recovery.h), makes the modules
 * from the bottom up, HTTP and its listening socket last, and then starts the
 * threads of the modules.  Exceptions: the readers, the threads that hash
 * passwords, and the fault carrier of test builds start when they are made; the
 * control socket is made together with its thread.  The threads with which a
 * start opens PostgreSQL, and answers clients meanwhile (opening.c), have ended
 * before the first thread of a module starts.
 */
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/mem.h"
#include "log/log.h"
#include "main/server.h"
#ifdef TWINBOX_FAULTS
#include "relay/carrier_fault.h"
#endif
#include "cluster/node.h"

#define QUEUE_LIMIT 20000
#define READS_LIMIT 20000

/*
 * Called when this process can never trust the database again (db_is_fatal(),
 * or a failed sync).  The memory may be ahead of the disk, so no more requests
 * may be answered: logs a last line and ends the process at once, without
 * server_stop(), with EX_IOERR (74).  Every message that was reported to its
 * sender as accepted is on disk, because that report waits until the commit is
 * durable, and after a failed sync no later sync succeeds (db_sync()).
 */
static void
on_fatal(void *arg, const struct err *err)
{

	(void)arg;
	log_last(LOG_EV_STORE_FAIL, err, "exit=%d", rc_exit_code(RC_IO));
	log_stop();
	_exit(rc_exit_code(RC_IO));
}

/* Descriptors that are not for connections: files, sockets, and some in
 * reserve. */
#define DESCRIPTORS_OURS 256

/* Raises the limit of descriptors as far as the system allows. */
static void
raise_files(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &files);
	}
}

/* Returns ${wanted}, or the limit of descriptors minus DESCRIPTORS_OURS, if
 * that is less.  A limit that is not known, or not above DESCRIPTORS_OURS, does
 * not count. */
static size_t
at_most_files(int64_t wanted)
{
	struct rlimit files;
	size_t n = (size_t)wanted, most;

	if (getrlimit(RLIMIT_NOFILE, &files) != 0 ||
	    files.rlim_cur <= DESCRIPTORS_OURS)
		return (n);
	most = (size_t)files.rlim_cur - DESCRIPTORS_OURS;
	return (n < most ? n : most);
}

/* Returns the lowest descriptor number with which a connection of a client is
 * refused: the sum of the limit of HTTP connections, the limit of WebSocket
 * connections and DESCRIPTORS_OURS, or, if that is less, the limit of the
 * system minus DESCRIPTORS_OURS.  In the second case the last DESCRIPTORS_OURS
 * numbers are left for files, the database and requests to other servers. */
static size_t
most_descriptors(const struct config *config)
{
	const size_t most = (size_t)config->connection_limit +
			    push_most_connections((size_t)config->ws_limit);

	return (at_most_files((int64_t)most + DESCRIPTORS_OURS));
}

/* Returns how many times at most a message is sent again that its destination
 * has refused for now; the setting retry-profile decides.  Answers about
 * messages contain the number as "max_retries". */
static int
most_retries(const struct server *s)
{

	return (retry_most((enum retry_profile)s->config.retry_profile));
}

/* ---- modules ---- */

static enum rc
make_env(struct server *s, struct err *err)
{
	struct txn_env_options txn_env_options = {.clk = s->clk,
	    .rnd = s->rnd,
	    .metrics = s->metrics,
	    .expiry_ms = s->config.expiry_ms,
	    .requeue_ms = s->config.requeue_window_ms,
	    .ack_timeout_ms = s->config.ack_timeout_ms,
	    .retry = (enum retry_profile)s->config.retry_profile,
	    .pending_most = s->config.max_pending,
	    .pending_most_total = s->config.max_pending_total,
	    .new_domains_most = s->config.federation_new_domains,
	    .at_once = !db_multi_writer(s->db),
	    .fatal = on_fatal};
	struct writer_options writer_options = {.db = s->db,
	    .clk = s->clk,
	    .timing = s->timing,
	    .queue_limit = QUEUE_LIMIT,
	    .checkpoint_bytes = s->config.checkpoint_size_bytes};
	const struct subscriber tokens = auth_subscriber(s->auth);
	enum rc rc;

	if ((rc = txn_env_new(&txn_env_options, &s->env, err)) != RC_OK ||
	    (rc = txn_env_subscribe(s->env, &tokens, err)) != RC_OK)
		return (rc);
	writer_options.hooks = txn_env_hooks(s->env);
	if ((rc = writer_new(&writer_options, &s->writer, err)) != RC_OK)
		return (rc);
	if (s->config.demo && s->was_empty &&
	    (rc = demo_users(s, err)) != RC_OK)
		return (rc);
	/* Readers of PostgreSQL (a multi-writer database) need not wait until a
	 * commit is durable: PostgreSQL shows them only durable commits. */
	return (
	    readers_start(&s->db_options, (int)s->config.readers, READS_LIMIT,
		db_multi_writer(s->db) ? NULL : writer_commits(s->writer),
		&s->readers, err));
}

/* Counts a send over a WebSocket against the same rate limit as a request. */
static bool
on_send(void *arg, int64_t user_id, int *ret_wait_s)
{
	struct server *s = arg;

	return (rest_admits(s->rest, user_id, ret_wait_s));
}

/* Makes the module federation and stores its carrier, the functions that send
 * to other servers, in ${ret}.  Builds with --enable-faults store the fault
 * carrier instead, which simulates the servers *.fault.test and passes the
 * messages for all other servers to the carrier of federation. */
static enum rc
make_carrier(struct server *s, struct carrier_remote *ret, struct err *err)
{
#ifdef TWINBOX_FAULTS
	char dir[CONFIG_TEXT_SIZE + 8];
#endif
	enum rc rc;

	if ((rc = server_federate(s, err)) != RC_OK)
		return (rc);
	*ret = federation_carrier(s->federation);
#ifdef TWINBOX_FAULTS
	(void)snprintf(dir, sizeof(dir), "%s/fault", s->config.data);
	rc = carrier_fault_start(dir, ret, s->clk, s->rnd, &s->fault, err);
	if (rc == RC_OK)
		*ret = carrier_fault(s->fault);
#endif
	return (rc);
}

static enum rc
make_gate(
    struct server *s, const struct carrier_remote *remote, struct err *err)
{
	const struct send_gate_options options = {.clk = s->clk,
	    .rnd = s->rnd,
	    .metrics = s->metrics,
	    .readers = s->readers,
	    .addressing = {s->config.domain, remote->reaches, remote->arg},
	    .shared = db_multi_writer(s->db),
	    .quota_messages = s->config.quota_messages,
	    .quota_bytes = s->config.quota_bytes,
	    .disk_low = &s->disk_low};

	return (send_gate_new(&options, &s->gate, err));
}

static enum rc
make_workers(struct server *s, struct err *err)
{
	struct relay_options relay_options = {.db = &s->db_options,
	    .carrier = carrier_local(s->writer),
	    .writer = s->writer,
	    .clk = s->clk,
	    .timing = s->timing,
	    .rnd = s->rnd,
	    .poll_ms = s->timing->relay_poll_ms,
	    .lease_ms = s->config.lease_ms,
	    .timeout_ms = s->config.delivery_timeout_ms};
	struct push_options push_options = {.clk = s->clk,
	    .timing = s->timing,
	    .metrics = s->metrics,
	    .writer = s->writer,
	    .readers = s->readers,
	    .auth = s->auth,
	    .epoch = s->epoch,
	    .session_limit = at_most_files(s->config.ws_limit),
	    .descriptors = most_descriptors(&s->config),
	    .message_deadline_ms = s->config.request_deadline_ms,
	    .rate_limit = (double)s->config.rate_limit,
	    .max_retries = most_retries(s),
	    .admits = on_send,
	    .admits_arg = s};
	struct buf origins = BUF_INIT;
	enum rc rc;
	int i;

	if ((rc = make_carrier(s, &relay_options.remote, err)) != RC_OK ||
	    (rc = relay_new(&relay_options, &s->relay, err)) != RC_OK ||
	    (rc = make_gate(s, &relay_options.remote, err)) != RC_OK)
		return (rc);
	for (i = 0; i < s->config.allow_origin.n; i++)
		buf_addf(&origins, "%s%s", i > 0 ? " " : "",
		    s->config.allow_origin.list[i]);
	buf_addc(&origins, '\0');
	if (!buf_ok(&origins))
		return (err_set(err, RC_NO_MEMORY, "origins"));
	push_options.allow_origin = origins.data;
	push_options.gate = s->gate;
	push_options.effects_limit = LIMIT_EFFECTS_BYTES;
	rc = push_new(&push_options, &s->push, err);
	buf_fini(&origins);
	return (rc);
}

/* Called when an operator has changed destinations on another node. */
static void
on_destinations_changed(void *arg)
{
	struct server *s = arg;
	struct wake *wake = wake_new();

	if (wake == NULL)
		return; /* the relay's safety poll finds it */
	wake->destinations_changed = true;
	relay_wake(s->relay, wake);
}

/* The same for a change of the row of the server ${domain}. */
static void
on_peer_changed(void *arg, const char *domain)
{
	struct server *s = arg;

	federation_peer_noted(s->federation, domain);
}

/* If several nodes may share the database (PostgreSQL), adds this node's row to
 * the database and makes the module cluster.  Otherwise s->cluster stays
 * NULL. */
static enum rc
make_cluster(struct server *s, struct err *err)
{
	struct cluster_options options = {.db = &s->db_options,
	    .clk = s->clk,
	    .timing = s->timing,
	    .lease_ms = s->config.lease_ms,
	    .auth = s->auth,
	    .push = s->push,
	    .lineage = &s->lineage,
	    .destinations_changed = on_destinations_changed,
	    .peer_changed = on_peer_changed,
	    .epoch_changed = serve_anew,
	    .arg = s};
	struct lineage_node *node = &s->node;
	enum rc rc;

	if (!db_multi_writer(s->db))
		return (RC_OK);
	(void)snprintf(
	    node->name, sizeof(node->name), "%s", relay_owner(s->relay));
	rc = node_insert(
	    s->db, node->name, clk_wall_ms(s->clk), &node->node_id, err);
	if (rc == RC_OK)
		rc = db_set_node(s->db, node->node_id, err);
	options.node = *node;
	return (rc == RC_OK ? cluster_new(&options, &s->cluster, err) : rc);
}

/* Returns whether this node does the upkeep, which one node does for all. */
static bool
is_upkeep_ours(void *arg)
{
	const struct server *s = arg;

	return (s->cluster == NULL || cluster_first(s->cluster));
}

static enum rc
make_upkeep(struct server *s, struct err *err)
{
	struct upkeep_options options = {.db = &s->db_options,
	    .clk = s->clk,
	    .writer = s->writer,
	    .metrics = s->metrics,
	    .dir_fd = s->data.dir_fd,
	    .epoch = s->epoch,
	    .retention_ms =
		{
		    [PURGE_OUTBOX] = s->config.retention_ms,
		    [PURGE_ATTEMPTS] = s->config.retention_ms,
		    [PURGE_PROCESSED] = s->config.dedup_retention_ms,
		    [PURGE_DEAD] = s->config.dead_letter_retention_ms,
		    [PURGE_AUDIT] = s->config.audit_retention_ms,
		    [PURGE_NONCES] = PURGE_NONCES_MS,
		    [PURGE_DESTINATIONS] = s->config.peer_retention_ms,
		},
	    .purge_rate = s->config.purge_rate,
	    .scrub_rate = s->config.scrub_rate,
	    .archive = s->config.archive,
	    .ours = is_upkeep_ours,
	    .arg = s,
	    .hooks = {{disk_look, s, DISK_LOOK_MS}},
	    .nhooks = 1};

	return (upkeep_new(&options, &s->upkeep, err));
}

static bool
is_ready(void *arg, const char **ret_why)
{
	struct server *s = arg;

	*ret_why = "it starts or stops";
	if (!atomic_load(&s->ready))
		return (false);
	*ret_why = "the database is away";
	if (cluster_away(s->cluster))
		return (false);
	*ret_why = "transactions cannot begin; the log says why (store.fail)";
	return (writer_can_begin(s->writer) && readers_can_begin(s->readers));
}

static void
on_upgrade(int fd, const struct net_from *from, void *arg)
{
	struct push_peer peer = {.scheme = ""};
	struct server *s = arg;

	if (from->scheme != NET_SCHEME_UNKNOWN)
		(void)snprintf(peer.scheme, sizeof(peer.scheme), "%s",
		    from->scheme == NET_SCHEME_HTTPS ? "https" : "http");
	(void)snprintf(peer.address, sizeof(peer.address), "%s", from->client);
	(void)snprintf(peer.host, sizeof(peer.host), "%s", from->host);
	push_adopt(s->push, fd, &peer);
}

struct net_networks
server_networks(const struct config_cidrs *cidrs)
{
	struct net_networks ret = {.n = cidrs->n};
	int i;

	_Static_assert(NET_NETWORKS_MAX >= CONFIG_LIST_MAX, "room for all");
	for (i = 0; i < cidrs->n; i++) {
		memcpy(ret.list[i].address, cidrs->list[i].address,
		    sizeof(ret.list[i].address));
		ret.list[i].bits = cidrs->list[i].bits;
	}
	return (ret);
}

static enum rc
make_api(struct server *s, struct err *err)
{
	struct admin_options admin_options = {.clk = s->clk,
	    .rnd = s->rnd,
	    .metrics = s->metrics,
	    .writer = s->writer,
	    .readers = s->readers,
	    .relay = s->relay,
	    .version = PACKAGE_VERSION,
	    .max_pending = s->config.max_pending,
	    .max_pending_total = s->config.max_pending_total,
	    .max_retries = most_retries(s),
	    .ready = is_ready,
	    .ready_arg = s,
	    .peer_changed = server_peer_changed,
	    .peer_changed_arg = s,
	    .clocks_off = server_clocks_off,
	    .clocks_arg = s,
	    .metrics_networks = server_networks(&s->config.metrics_networks),
	    .page_worker = s->config.page_worker,
	    .alert_interval_ms = s->config.alert_interval_ms};
	struct api_options api_options = {.clk = s->clk,
	    .rnd = s->rnd,
	    .metrics = s->metrics,
	    .writer = s->writer,
	    .readers = s->readers,
	    .auth = s->auth,
	    .epoch = s->epoch,
	    .epoch_changed = &s->anew,
	    .domain = s->config.domain,
	    .version = PACKAGE_VERSION,
	    .max_retries = most_retries(s),
	    .registration_open = s->config.registration == REGISTRATION_OPEN,
	    .rate_limit = (double)s->config.rate_limit,
	    .registration_rate = (double)s->config.registration_rate};
	struct rest_options rest_options = {.clk = s->clk,
	    .timing = s->timing,
	    .writer = s->writer,
	    .readers = s->readers,
	    .push = s->push,
	    .auth = s->auth,
	    .rate_limit = (double)s->config.rate_limit,
	    .argon2_threads = (int)s->config.argon2_threads};
	enum rc rc;

	if ((rc = rest_new(&rest_options, &s->rest, err)) != RC_OK ||
	    (rc = admin_new(&admin_options, &s->admin, err)) != RC_OK)
		return (rc);
	api_options.rest = s->rest;
	api_options.gate = s->gate;
	return (api_new(&api_options, &s->api, err));
}

/* Returns how many HTTP connections one client address may have, the setting
 * connections-per-address; 0: no limit.  Returns 0 if behind-proxy is set, or
 * if the server listens on loopback and connections-per-address is not set:
 * then all connections come from the same address. */
static size_t
address_limit(const struct config *config)
{

	if (config->behind_proxy.n > 0 ||
	    (config->is_loopback &&
		config->source[CONFIG_connections_per_address] ==
		    CONFIG_FROM_DEFAULT))
		return (0);
	return ((size_t)config->connections_per_address);
}

void
server_http_options(struct server *s, struct http_options *ret)
{

	*ret = (struct http_options){.listen = s->config.listen,
	    .listener = s->listener,
	    .loops = (int)s->config.http_loops,
	    .request_deadline_ms = s->config.request_deadline_ms,
	    .idle_deadline_ms = s->config.idle_deadline_ms,
	    .connection_limit = at_most_files(s->config.connection_limit),
	    .descriptors = most_descriptors(&s->config),
	    .address_limit = address_limit(&s->config),
	    .body_bytes = (size_t)s->config.request_memory_bytes,
	    .answer_bytes = (size_t)s->config.answer_memory_bytes,
	    .clk = s->clk,
	    .timing = s->timing,
	    .metrics = s->metrics};
	ret->believed = server_networks(&s->config.behind_proxy);
	s->listener = 0;
}

static enum rc
make_http(struct server *s, struct err *err)
{
	const struct http_routes routes[] = {
	    {.list = api_routes(), .module = s->api},
	    {.list = admin_routes(), .module = s->admin},
	    federation_routes(s->federation), {.list = NULL}};
	struct http_options options;

	server_http_options(s, &options);
	options.routes = routes;
	options.route_arg = s->rest;
	options.authorize = rest_authorize;
	options.head = rest_head;
	options.lookup = rest_lookup;
	options.upgrade_path = "/v1/ws";
	options.upgrade = on_upgrade;
	options.upgrade_arg = s;
	return (http_new(&options, &s->http, err));
}

/* Counts the waiting messages for the backlog of s->env (the counts that
 * max-pending limits), over a connection that is opened and closed here.  If
 * the writer's connection counted them, the rows would fill its page cache,
 * through which each commit walks, and the writer would not read them again. */
static enum rc
count_waiting(struct server *s, struct err *err)
{
	struct db_options options = s->db_options;
	struct db *db;
	enum rc rc;

	options.mode = DB_READER;
	if ((rc = db_open(&options, &db, err)) != RC_OK)
		return (rc);
	rc = txn_env_start(s->env, db, err);
	db_close(db);
	return (rc);
}

static enum rc
start_threads(struct server *s, struct err *err)
{
	enum rc rc;

	if ((rc = count_waiting(s, err)) != RC_OK ||
	    (rc = writer_start(s->writer, err)) != RC_OK ||
	    (rc = federation_start(s->federation, err)) != RC_OK ||
	    (rc = relay_start(s->relay, err)) != RC_OK ||
	    (rc = upkeep_start(s->upkeep, err)) != RC_OK ||
	    (rc = push_start(s->push, err)) != RC_OK ||
	    (s->cluster != NULL &&
		(rc = cluster_start(s->cluster, err)) != RC_OK) ||
	    (rc = control_start(
		 &s->data, s->writer, s->readers, &s->control, err)) != RC_OK)
		return (rc);
	if ((rc = admin_start(s->admin, err)) != RC_OK)
		return (rc);
	atomic_store(&s->ready, true);
	return (http_start(s->http, err));
}

/* Subscribes the cluster (if there is one), the relay and push to commits.  The
 * order here does not matter.  The relay takes ownership of the wake-up of a
 * commit (the lanes and destinations that have work), and push of its effects
 * (the changes for clients).  The publisher passes each of the two to its owner
 * last (txn/publisher.h), after the other subscribers, which only read it. */
static enum rc
subscribe(struct server *s, struct err *err)
{
	struct subscriber relay = relay_subscriber(s->relay);
	struct subscriber push = push_subscriber(s->push);
	struct subscriber cluster;
	enum rc rc = RC_OK;

	if (s->cluster != NULL) {
		cluster = cluster_subscriber(s->cluster);
		rc = txn_env_subscribe(s->env, &cluster, err);
	}
	if (rc == RC_OK)
		rc = txn_env_subscribe(s->env, &relay, err);
	return (rc == RC_OK ? txn_env_subscribe(s->env, &push, err) : rc);
}

enum rc
server_start(struct server *s, struct err *err)
{
	enum rc rc;

	raise_files();
	if ((rc = crypt_init(err)) != RC_OK)
		return (rc);
	s->metrics = metrics_new();
	s->auth = auth_new();
	if (s->metrics == NULL || s->auth == NULL)
		return (err_set(err, RC_NO_MEMORY, "server"));
	if ((rc = server_open(s, err)) != RC_OK ||
	    (rc = make_env(s, err)) != RC_OK ||
	    (rc = make_workers(s, err)) != RC_OK ||
	    (rc = make_cluster(s, err)) != RC_OK ||
	    (rc = subscribe(s, err)) != RC_OK ||
	    (rc = make_upkeep(s, err)) != RC_OK ||
	    (rc = make_api(s, err)) != RC_OK ||
	    (rc = make_http(s, err)) != RC_OK)
		return (rc);
	return (start_threads(s, err));
}
