/* SPDX-License-Identifier: MIT */
/*
 * The states of a node: its tables, and the drawings in the header, which must
 * show the moves of the tables and no others.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "cluster/node_state.h"
#include "cluster/peer_state.h"
#include "unit/state_drawing.h"

static void
test_drawings(void **state)
{
	const char *names[NODE_STATES], *peer_names[PEER_STATES];
	const struct state_machine node = {"server/cluster/node_state.h", names,
	    NODE_STATES, node_state_allows};
	const struct state_machine peer = {"server/cluster/peer_state.h",
	    peer_names, PEER_STATES, peer_state_allows};
	int i;

	(void)state;
	for (i = 0; i < NODE_STATES; i++)
		names[i] = node_state_name(i);
	for (i = 0; i < PEER_STATES; i++)
		peer_names[i] = peer_state_name(i);
	assert_state_drawing(&node);
	assert_state_drawing(&peer);
}

static void
test_names(void **state)
{

	(void)state;
	assert_string_equal(node_state_name(NODE_STARTING), "starting");
	assert_string_equal(node_state_name(NODE_LEFT), "left");
	assert_null(node_state_name(-1));
	assert_null(node_state_name(NODE_STATES));
	assert_string_equal(peer_state_name(PEER_DEAD), "dead");
	assert_null(peer_state_name(-1));
	assert_null(peer_state_name(PEER_STATES));
}

/* Each state except the last has a move to another state, and none to
 * itself. */
static void
test_moves(void **state)
{
	int from, to, n;

	(void)state;
	for (from = 0; from < NODE_STATES; from++) {
		for (n = 0, to = 0; to < NODE_STATES; to++)
			n += node_state_allows(from, to);
		assert_true(from == NODE_LEFT ? n == 0 : n > 0);
		assert_false(node_state_allows(from, from));
	}
	for (from = 0; from < PEER_STATES; from++) {
		for (n = 0, to = 0; to < PEER_STATES; to++)
			n += peer_state_allows(from, to);
		assert_true(from == PEER_LEFT ? n == 0 : n > 0);
		assert_false(peer_state_allows(from, from));
	}
	assert_false(node_state_allows(-1, NODE_ALIVE));
	assert_false(peer_state_allows(PEER_ALIVE, PEER_STATES));
}

static void
move_back(void)
{
	atomic_int state = NODE_STALE;

	node_state_move(&state, NODE_ALIVE);
}

static void
move_peer_back(void)
{
	enum peer_state state = PEER_LEFT;

	peer_state_move(&state, PEER_ALIVE);
}

/* Returns whether an assertion ends ${fn} in a child process. */
static bool
aborts(void (*fn)(void))
{
	int status;
	pid_t pid;

	if ((pid = fork()) == 0) {
		(void)close(STDERR_FILENO);
		fn();
		_exit(0);
	}
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return (WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

static void
test_move(void **state)
{
	enum peer_state peer = PEER_ALIVE;
	atomic_int node = NODE_STARTING;

	(void)state;
	node_state_move(&node, NODE_ALIVE);
	node_state_move(&node, NODE_AWAY);
	assert_int_equal(atomic_load(&node), NODE_AWAY);
	peer_state_move(&peer, PEER_DEAD);
	peer_state_move(&peer, PEER_ALIVE);
	assert_int_equal(peer, PEER_ALIVE);
	assert_true(aborts(move_back));
	assert_true(aborts(move_peer_back));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_drawings),
	    cmocka_unit_test(test_names),
	    cmocka_unit_test(test_moves),
	    cmocka_unit_test(test_move),
	};

	return (cmocka_run_group_tests_name("node states", tests, NULL, NULL));
}
