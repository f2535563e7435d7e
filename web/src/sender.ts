// SPDX-License-Identifier: MIT
// Brings what was written to the server: one message after the other, so that
// their order is kept, each with the id it was given when it was written.  The
// id makes it safe to send again whenever the answer is not known: the server
// accepts it once.

import { isPassing } from './api.ts';
import { SocketClosed, type Frame } from './socket.ts';
import type { Entry, Problem, Unsent } from './types.ts';

const AGAIN_MS = 1_000;

export interface SenderUser {
	/** What waits, oldest first. */
	waiting(): Unsent | undefined;
	/** Sends; the reply, or SocketClosed. */
	request(type: string, members: object): Promise<Frame>;
	/** It is accepted: on the server's disk. */
	accepted(unsent: Unsent, entry: Entry): void;
	/** It will never be accepted as it is. */
	refused(unsent: Unsent, problem: Problem): void;
}

export class Sender {
	private readonly user: SenderUser;
	private busy = false;
	private timer: ReturnType<typeof setTimeout> | undefined;

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
				const unsent = this.user.waiting();
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
		if (reply.type === 'sent') {
			this.user.accepted(unsent, reply['entry'] as Entry);
			return true;
		}
		const problem = reply.problem!;
		if (isPassing(problem)) {
			this.timer = setTimeout(() => {
				this.timer = undefined;
				void this.kick();
			}, (problem.retry_after ?? 0) * 1000 + Math.random() * AGAIN_MS);
			return false;
		}
		this.user.refused(unsent, problem);
		return true;
	}
}

