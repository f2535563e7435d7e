// SPDX-License-Identifier: MIT
// The text field in which a message is written.

import type { JSX } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';

import type { ChatClient, Route } from './client.ts';
import { loadDraft, saveDraft } from './data.ts';
import { SendArrow } from './icons.tsx';
import { targetOf } from './merge.ts';

/* Otherwise the field must be measured, which makes the browser lay out the page at each key. */
const GROWS_BY_STYLE = CSS.supports('field-sizing', 'content');

const counted = (n: number, noun: string) => `${n} ${noun}${n === 1 ? '' : 's'}`;

export function Composer({ client, route, hash, name }: { client: ChatClient; route: Route; hash: string;
	name: string }): JSX.Element
{
	const [text, setText] = useState(() => loadDraft(client.me, hash));
	const field = useRef<HTMLTextAreaElement>(null);
	const bytes = new TextEncoder().encode(text).length;
	const over = bytes - client.limit;
	// An estimate, which is good for a text in one script.
	const letters = Math.ceil(over * [...text].length / Math.max(bytes, 1));

	// The field grows with the text, up to the limit of the style sheet.
	useLayoutEffect(() => {
		const at = field.current!;
		if (GROWS_BY_STYLE)
			return;
		at.style.height = 'auto';
		at.style.height = `${at.scrollHeight + 2}px`;
	}, [text]);
	useLayoutEffect(() => {
		// On a phone the focus would open the keyboard.
		if (matchMedia('(hover: hover)').matches)
			field.current!.focus();
	}, []);

	const change = (value: string) => {
		setText(value);
		saveDraft(client.me, hash, value);
	};
	const send = () => {
		if (text.trim() === '' || over > 0)
			return;
		void client.send('to' in route ? { to: route.to } :
			targetOf(route.conversation, client.me), text);
		change('');
	};

	return (
		<form class="composer" onSubmit={(event) => {
			event.preventDefault();
			send();
			field.current!.focus();
		}}>
			<label class="sr" for="text">Message to {name}</label>
			<textarea id="text" ref={field} rows={1} value={text} dir="auto" enterkeyhint="send"
				placeholder="Message" aria-describedby={over > 0 ? 'over' : undefined}
				onInput={(event) => {
					change(event.currentTarget.value);
					if ('conversation' in route)
						client.type(route.conversation.id);
				}}
				onKeyDown={(event) => {
					if (event.key !== 'Enter' || event.shiftKey || event.isComposing)
						return;
					event.preventDefault();
					send();
				}} />
			<button class="round send" aria-label="Send" title="Send (Enter)"
				disabled={text.trim() === '' || over > 0}><SendArrow /></button>
			{over > 0 && <p id="over" class="wrong" role="alert">
				Too long: {counted(over, 'byte')} over (about {counted(letters, 'character')}).</p>}
		</form>
	);
}
