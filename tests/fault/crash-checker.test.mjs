// SPDX-License-Identifier: MIT
//
// A checker that finds nothing proves nothing.  So for each rule these tests
// show the checker a history that breaks the rule, and once a history that
// breaks none.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { History, check, rules, told } from './crash-checker.mjs';

/**
 * A correct history: ann has sent bob three messages, and bob has acked two of
 * them.
 */
function sound()
{
	const history = new History();
	const conversation = 'c';
	const messages = [1, 2, 3].map((n) => ({ id: `m${n}`, body: `body ${n}`, n }));

	for (const { id, body } of messages) {
		const call = history.invoke({ client: 0, from: 'ann', to: 'bob', id, body });
		history.accepted(call, { id, conversation });
	}
	const event = (seq, { id, body, n }, own) => ({
		seq, event_id: `${own ? 'o' : 'e'}${n}`, kind: 'message', own, id, from: 'ann', to: 'bob',
		body, conversation, conversation_seq: n,
	});
	const ann = messages.map((m, i) => event(i + 1, m, true));
	ann.push({ seq: 4, event_id: 'r', kind: 'receipt', of: 'm2', conversation, upto: 2, by: 'bob',
		state: 'delivered' });
	const bob = messages.map((m, i) => event(i + 1, m, false));
	const copy = (events) => structuredClone(events).map((e) => ({ type: 'event', ...e }));
	bob.forEach((e) => history.shown('bob', e));
	history.acked('bob', 'first', 2);
	const views = new Map([
		['ann', { rest: ann, ws: copy(ann), head: 4, acked: 0, outbox: messages.map(({ id, n }) =>
			({ id, state: n <= 2 ? 'acked' : 'sent' })) }],
		['bob', { rest: bob, ws: copy(bob), head: 3, acked: 2, outbox: [] }],
	]);
	return { history, views, ann: views.get('ann'), bob: views.get('bob') };
}

const both = (view, change) => {
	change(view.rest);
	change(view.ws);
};

const breaks = {
	lost: ({ bob }) => {
		both(bob, (events) => events.pop());
		bob.head = 2;
	},
	own_lost: ({ ann }) => both(ann, (events) => {
		events[2] = { ...events[3], seq: 3 };
		events.pop();
		ann.head = 3;
	}),
	twice: ({ bob }) => {
		both(bob, (events) => events.push({ ...events[2], seq: 4 }));
		bob.head = 4;
	},
	invented: ({ bob }) => {
		both(bob, (events) => events.push({ ...events[2], seq: 4, id: 'm9', event_id: 'e9',
			conversation_seq: 4 }));
		bob.head = 4;
	},
	changed: ({ bob }) => both(bob, (events) => {
		events[1].body = 'Body 2';
	}),
	hole: ({ bob }) => both(bob, (events) => {
		events[2].seq = 4;
	}),
	order: ({ bob }) => both(bob, (events) => {
		[events[0], events[1]] = [{ ...events[1], seq: 1 }, { ...events[0], seq: 2 }];
	}),
	numbers: ({ ann, bob }) => {
		for (const view of [ann, bob])
			both(view, (events) => {
				events[2].conversation_seq = 5;
			});
	},
	views: ({ bob }) => {
		bob.ws.pop();
	},
	unshown: ({ history, bob }) =>
		history.shown('bob', { ...bob.rest[2], event_id: 'another' }),
	ack_lost: ({ history }) => history.acked('bob', 'first', 3),
	unanswered: ({ history }) =>
		history.invoke({ client: 0, from: 'ann', to: 'bob', id: 'm8', body: 'x' }),
	entry: ({ ann }) => {
		ann.outbox[0].state = 'pending';
	},
	receipt: ({ ann }) => both(ann, (events) => {
		events[3].upto = 1;
	}),
};

describe('the checker', () => {
	it('finds nothing wrong with a sound history, and says what it looked at', () => {
		const { history, views } = sound();
		const { violations, counts } = check(history, views);
		assert.deepEqual(violations, []);
		assert.deepEqual(counts, { sent: 3, accepted: 3, clients: 1, unknown: 0, replayed: 0, inboxes: 2,
			events: 7, ws_events: 7, shown: 3, acks: 1, conversations: 1, receipts: 1 });
	});

	for (const rule of rules) {
		it(`finds: ${rule}`, () => {
			const all = sound();
			assert.ok(breaks[rule], 'no sample breaks this rule');
			breaks[rule](all);
			const { violations, found } = check(all.history, all.views);
			assert.ok(violations.some((one) => one.rule === rule),
				`found only ${JSON.stringify(violations)}`);
			assert.ok(found[rule] > 0);
		});
	}

	it('says in its line of figures what it found', () => {
		const { history, views } = sound();
		assert.match(told(check(history, views), { rounds: 7 }),
			/^rounds=7 .* lost=0 twice=0 hole=0 order=0 violations=0$/);
		for (const rule of ['lost', 'twice', 'hole', 'order']) {
			const all = sound();
			breaks[rule](all);
			const line = told(check(all.history, all.views));
			assert.match(line, new RegExp(` ${rule}=[1-9]`));
			assert.doesNotMatch(line, /violations=0$/);
		}
	});
});
