// SPDX-License-Identifier: MIT
// The data that the browser keeps for one user: messages, conversations, unsent texts, and the
// cursor of the inbox (IndexedDB).  A message and the cursor behind it are written in one
// transaction, so that all acked messages are stored.  If the browser does not store data,
// `lasting` is false, and the page works in memory.

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
			// Another tab logs out, or has a newer version of the page.
			disk.db.onversionchange = () => disk.close();
		} catch {
			// The browser has no database: this.db stays null.
		}
		return disk;
	}

	/** Returns true if data outlives this page. */
	get lasting(): boolean
	{
		return this.db !== null;
	}

	close(): void
	{
		this.db?.close();
		this.db = null;
	}

	/** Reads everything except the messages. */
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

	/** Reads the newest ${limit} messages of a conversation. */
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

	/** Reads those messages of ${ids} that are stored. */
	async find(ids: string[]): Promise<Message[]>
	{
		if (!this.db || ids.length === 0)
			return [];
		const store = this.db.transaction('messages').objectStore('messages');
		const all = await Promise.all(ids.map((id) =>
			resultOf<Message | undefined>(store.get(id))));
		return all.filter((one): one is Message => one !== undefined);
	}

	/** Reads all messages, for the rare case that all must be marked. */
	async everything(): Promise<Message[]>
	{
		return this.db ? resultOf<Message[]>(
			this.db.transaction('messages').objectStore('messages').getAll()) : [];
	}

	/**
	 * Writes all of ${batch} or nothing.  When it returns, the batch is on the disk.  If the
	 * disk is full or forbidden, nothing is stored any more, and `lasting` is false.
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

	/** Erases all data of this user. */
	async erase(): Promise<void>
	{
		this.close();
		try {
			const request = indexedDB.deleteDatabase(this.name);
			await new Promise<void>((resolve) => {
				// Another tab may block this until it closes; the browser deletes
				// it then.
				request.onsuccess = request.onerror = request.onblocked =
					() => resolve();
			});
		} catch {
			// Nothing was stored.
		}
	}
}
