// SPDX-License-Identifier: MIT
// Sends the written texts to the server, one after the other, so that their order is kept.  Each
// has the id that it got when it was written.  The id makes it safe to send a text again when the
// answer is not known: the server accepts it once.  A text that waits because of its recipient does
// not delay texts to others.

import { isOfRecipient, isPassing } from './api.ts';
import { SocketClosed, type Frame } from './socket.ts';
import type { Entry, Problem, Unsent } from './types.ts';

const AGAIN_MS = 1_000;
const AGAIN_MOST_MS = 60_000;

const EVERYBODY = '';

/** Returns the recipient of ${unsent}.  Texts to the same recipient keep their order. */
export function recipientOf({ target }: Unsent): string
{
	return 'to' in target ? target.to : target.conversation;
}

export interface SenderUser {
	/** The oldest waiting text whose recipient is not in ${held}. */
	waiting(held: Set<string>): Unsent | undefined;
	/** Sends a request and returns the reply; fails with SocketClosed. */
	request(type: string, members: object): Promise<Frame>;
	/** The text is accepted: it is on the server's disk. */
	accepted(unsent: Unsent, entry: Entry): void;
	/** The text is refused for now because of its recipient.  It is sent again automatically. */
	delayed(unsent: Unsent, problem: Problem): void;
	/** The text will never be accepted as it is. */
	refused(unsent: Unsent, problem: Problem): void;
}

export class Sender {
	private readonly user: SenderUser;
	private busy = false;
	private timer: ReturnType<typeof setTimeout> | undefined;
	private readonly held = new Map<string, ReturnType<typeof setTimeout>>();
	/* Refusals in a row without a retry time, by recipient; EVERYBODY: of all texts. */
	private readonly failures = new Map<string, number>();

	constructor(user: SenderUser)
	{
		this.user = user;
	}

	/**
	 * There is a text to send, or a connection to send it on.  Neither shortens a pause that
	 * the server asked for.
	 */
	async kick(): Promise<void>
	{
		if (this.busy || this.timer !== undefined)
			return;
		this.busy = true;
		try {
			for (;;) {
				const unsent = this.user.waiting(new Set(this.held.keys()));
				if (!unsent || !await this.send(unsent))
					break;
			}
		} finally {
			this.busy = false;
		}
	}

	end(): void
	{
		clearTimeout(this.timer);
		this.held.forEach(clearTimeout);
	}

	/** Sends one text.  Returns true if the next one can be sent. */
	private async send(unsent: Unsent): Promise<boolean>
	{
		let reply: Frame;

		try {
			reply = await this.user.request('send', {
				message: { ...unsent.target, body: unsent.body, id: unsent.id },
			});
		} catch (error) {
			if (error instanceof SocketClosed)
				return false; // the next connection sends it again
			throw error;
		}
		const to = recipientOf(unsent);
		if (reply.type === 'sent') {
			this.failures.delete(to);
			this.failures.delete(EVERYBODY);
			this.user.accepted(unsent, reply['entry'] as Entry);
			return true;
		}
		const problem = reply.problem!;
		if (isOfRecipient(problem)) {
			this.held.set(to, setTimeout(() => {
				this.held.delete(to);
				void this.kick();
			}, this.pause(problem, to)));
			this.user.delayed(unsent, problem);
			return true;
		}
		if (isPassing(problem)) {
			this.timer = setTimeout(() => {
				this.timer = undefined;
				void this.kick();
			}, this.pause(problem, EVERYBODY));
			return false;
		}
		this.user.refused(unsent, problem);
		return true;
	}

	/** Returns how long ${whom} must wait, in ms: as long as the server says, or, if it does
	 * not say (as for a full inbox), longer each time. */
	private pause(problem: Problem, whom: string): number
	{
		if (problem.retry_after !== undefined)
			return problem.retry_after * 1000 + Math.random() * AGAIN_MS;
		const before = this.failures.get(whom) ?? 0;
		this.failures.set(whom, before + 1);
		return Math.random() * Math.min(AGAIN_MOST_MS, AGAIN_MS * 2 ** before);
	}
}

