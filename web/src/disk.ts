// SPDX-License-Identifier: MIT
// What the browser keeps for one person: messages, conversations, what is
// unsent, and how far the inbox has been stored (IndexedDB).  A message and
// the cursor behind it are written in one transaction, so that what was acked
// is here.  Where a browser keeps nothing, `lasting` is false and all goes on
// in memory.

import type { Conversation, Cursor, Message, Unsent } from './types.ts';

export interface Batch {
	messages?: Message[];
	conversations?: Conversation[];
	unsent?: Unsent[];
	done?: string[]; // ids that are no longer unsent
	cursor?: Cursor | null;
}

export interface Kept {
	conversations: Conversation[];
	unsent: Unsent[];
	cursor: Cursor | null;
}

const VERSION = 1;
const STORES = ['messages', 'conversations', 'unsent', 'meta'];

function resultOf<T>(request: IDBRequest<T>): Promise<T>
{
	return new Promise((resolve, reject) => {
		request.onsuccess = () => resolve(request.result);
		request.onerror = () => reject(request.error);
	});
}

function settled(tx: IDBTransaction): Promise<void>
{
	return new Promise((resolve, reject) => {
		tx.oncomplete = () => resolve();
		tx.onabort = tx.onerror = () => reject(tx.error);
	});
}

function upgrade(db: IDBDatabase): void
{
	const messages = db.createObjectStore('messages', { keyPath: 'id' });

	messages.createIndex('place', ['conversation', 'at']);
	db.createObjectStore('conversations', { keyPath: 'id' });
	db.createObjectStore('unsent', { keyPath: 'id' });
	db.createObjectStore('meta');
}

export class Disk {
	private readonly name: string;
	private db: IDBDatabase | null = null;

	private constructor(user: string)
	{
		this.name = `twinbox.${user}`;
	}

	static async open(user: string): Promise<Disk>
	{
		const disk = new Disk(user);

		try {
			const request = indexedDB.open(disk.name, VERSION);
			request.onupgradeneeded = () => upgrade(request.result);
			disk.db = await resultOf(request);
			// Another tab logs out, or is of a newer version.
			disk.db.onversionchange = () => disk.close();
		} catch {
			// There is none, which is what it begins with.
		}
		return disk;
	}

	/** Whether anything is kept beyond this page. */
	get lasting(): boolean
	{
		return this.db !== null;
	}

	close(): void
	{
		this.db?.close();
		this.db = null;
	}

	/** Everything but the messages. */
	async load(): Promise<Kept>
	{
		if (!this.db)
			return { conversations: [], unsent: [], cursor: null };
		const tx = this.db.transaction(STORES);
		const [conversations, unsent, cursor] = await Promise.all([
			resultOf<Conversation[]>(tx.objectStore('conversations').getAll()),
			resultOf<Unsent[]>(tx.objectStore('unsent').getAll()),
			resultOf<Cursor | undefined>(tx.objectStore('meta').get('cursor')),
		]);
		return { conversations, unsent, cursor: cursor ?? null };
	}

	/** The newest ${limit} messages of a conversation. */
	async messages(conversation: string, limit: number): Promise<Message[]>
	{
		if (!this.db)
			return [];
		const found: Message[] = [];
		const range = IDBKeyRange.bound([conversation, -Infinity], [conversation, Infinity]);
		const request = this.db.transaction('messages').objectStore('messages')
			.index('place').openCursor(range, 'prev');
		await new Promise<void>((resolve, reject) => {
			request.onerror = () => reject(request.error);
			request.onsuccess = () => {
				const at = request.result;
				if (!at || found.length >= limit)
					return resolve();
				found.push(at.value as Message);
				at.continue();
			};
		});
		return found;
	}

	/** Those of ${ids} that are kept. */
	async find(ids: string[]): Promise<Message[]>
	{
		if (!this.db || ids.length === 0)
			return [];
		const store = this.db.transaction('messages').objectStore('messages');
		const all = await Promise.all(ids.map((id) =>
			resultOf<Message | undefined>(store.get(id))));
		return all.filter((one): one is Message => one !== undefined);
	}

	/** Every message, for the rare case that all must be marked. */
	async everything(): Promise<Message[]>
	{
		return this.db ? resultOf<Message[]>(
			this.db.transaction('messages').objectStore('messages').getAll()) : [];
	}

	/**
	 * All of ${batch} or nothing of it; then it is on the disk.  When the disk
	 * is full or forbidden nothing is kept from then on: `lasting` says so.
	 */
	async write(batch: Batch): Promise<void>
	{
		try {
			await this.put(batch);
		} catch {
			this.close();
		}
	}

	private async put(batch: Batch): Promise<void>
	{
		if (!this.db)
			return;
		const tx = this.db.transaction(STORES, 'readwrite');
		const done = settled(tx);
		for (const one of batch.messages ?? [])
			tx.objectStore('messages').put(one);
		for (const one of batch.conversations ?? [])
			tx.objectStore('conversations').put(one);
		for (const one of batch.unsent ?? [])
			tx.objectStore('unsent').put(one);
		for (const id of batch.done ?? [])
			tx.objectStore('unsent').delete(id);
		if (batch.cursor)
			tx.objectStore('meta').put(batch.cursor, 'cursor');
		else if (batch.cursor === null)
			tx.objectStore('meta').delete('cursor');
		await done;
	}

	/** Forgets everything of this person. */
	async erase(): Promise<void>
	{
		this.close();
		try {
			const request = indexedDB.deleteDatabase(this.name);
			await new Promise<void>((resolve) => {
				// Blocked by a tab that has not closed yet: it will happen then.
				request.onsuccess = request.onerror = request.onblocked =
					() => resolve();
			});
		} catch {
			// Nothing was kept.
		}
	}
}
