// SPDX-License-Identifier: MIT
// Brings what was written to the server: one message after the other, so that
// their order is kept, each with the id it was given when it was written.  The
// id makes it safe to send again whenever the answer is not known: the server
// accepts it once.  One that waits because of whom it is for lets those for others
// pass.

import { isOfRecipient, isPassing } from './api.ts';
import { SocketClosed, type Frame } from './socket.ts';
import type { Entry, Problem, Unsent } from './types.ts';

const AGAIN_MS = 1_000;
const AGAIN_MOST_MS = 60_000;

const EVERYBODY = '';

/** Whom ${unsent} is for: what goes to the same keeps its order. */
export function recipientOf({ target }: Unsent): string
{
	return 'to' in target ? target.to : target.conversation;
}

export interface SenderUser {
	/** The oldest that waits, of those that are for nobody of ${held}. */
	waiting(held: Set<string>): Unsent | undefined;
	/** Sends; the reply, or SocketClosed. */
	request(type: string, members: object): Promise<Frame>;
	/** It is accepted: on the server's disk. */
	accepted(unsent: Unsent, entry: Entry): void;
	/** It is not accepted yet, because of whom it is for; it is sent again by itself. */
	delayed(unsent: Unsent, problem: Problem): void;
	/** It will never be accepted as it is. */
	refused(unsent: Unsent, problem: Problem): void;
}

export class Sender {
	private readonly user: SenderUser;
	private busy = false;
	private timer: ReturnType<typeof setTimeout> | undefined;
	private readonly held = new Map<string, ReturnType<typeof setTimeout>>();
	/* How often in a row no time was said, by recipient; EVERYBODY: of all texts. */
	private readonly failures = new Map<string, number>();

	constructor(user: SenderUser)
	{
		this.user = user;
	}

	/**
	 * There is something to send, or a connection to send it by.  Neither
	 * shortens a pause that the server asked for.
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

	/** Whether to go on with the next one. */
	private async send(unsent: Unsent): Promise<boolean>
	{
		let reply: Frame;

		try {
			reply = await this.user.request('send', {
				message: { ...unsent.target, body: unsent.body, id: unsent.id },
			});
		} catch (error) {
			if (error instanceof SocketClosed)
				return false; // it is sent again on the next connection
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

	/** How long ${whom} waits: as long as the server says, or longer each time if it
	 *  does not say, as for an inbox without room. */
	private pause(problem: Problem, whom: string): number
	{
		if (problem.retry_after !== undefined)
			return problem.retry_after * 1000 + Math.random() * AGAIN_MS;
		const before = this.failures.get(whom) ?? 0;
		this.failures.set(whom, before + 1);
		return Math.random() * Math.min(AGAIN_MOST_MS, AGAIN_MS * 2 ** before);
	}
}

