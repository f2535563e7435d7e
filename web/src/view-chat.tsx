// SPDX-License-Identifier: MIT
// One conversation: its messages, and the text field.

import type { JSX } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';

import type { ChatClient, Route } from './client.ts';
import { Back } from './icons.tsx';
import { nameOf, others } from './merge.ts';
import { Avatar } from './view-list.tsx';
import { Composer } from './view-composer.tsx';
import { Messages } from './view-messages.tsx';

export function ChatView(props: { client: ChatClient; route: Route; hash: string;
	show: (id: string) => void }): JSX.Element
{
	const { client, route, hash } = props;
	const c = 'conversation' in route ? route.conversation : null;
	const name = c ? nameOf(c, client.me) : 'to' in route ? route.to : '';
	const heading = useRef<HTMLHeadingElement>(null);
	const typing = c && client.typingIn(c.id);
	const people = c ? others(c, client.me).length : 1;

	// If the text field does not get the focus, a screen reader begins here.
	useLayoutEffect(() => {
		if (!matchMedia('(hover: hover)').matches)
			heading.current?.focus();
	}, []);
	return (
		<main class="chat" aria-labelledby="chat-name">
			<div class="bar">
				<a class="round back" href="#" aria-label="Back to the conversations"><Back /></a>
				<Avatar name={name} />
				<div class="who">
					<h1 id="chat-name" ref={heading} tabIndex={-1}><bdi>{name}</bdi></h1>
					<p>{typing ? `${people > 1 ? typing : ''} typing …` : people > 1 ?
						`${people + 1} people` : c ? '' : 'New conversation'}</p>
				</div>
			</div>
			<Messages key={`m ${hash}`} client={client} route={route} show={props.show} />
			<Composer key={hash} client={client} route={route} hash={hash} name={name} />
		</main>
	);
}
