// SPDX-License-Identifier: MIT
// The icons, as inline drawings.  All are decoration: a word stands beside each.

import type { ComponentChildren, JSX } from 'preact';

import type { Tick } from './types.ts';

function Icon(props: { children: ComponentChildren; wide?: boolean }): JSX.Element
{
	return (
		<svg class="icon" viewBox={props.wide ? '0 0 22 16' : '0 0 16 16'} aria-hidden="true"
			fill="none" stroke="currentColor" stroke-width="1.75" stroke-linecap="round"
			stroke-linejoin="round" width={props.wide ? 22 : 16} height="16">
			{props.children}
		</svg>
	);
}

export const Back = () => <Icon><path d="M10 3 5 8l5 5" /></Icon>;
export const Plus = () => <Icon><path d="M8 3v10M3 8h10" /></Icon>;
export const Close = () => <Icon><path d="m4 4 8 8M12 4l-8 8" /></Icon>;
export const SendArrow = () => <Icon><path d="M8 13V3M3.5 7.5 8 3l4.5 4.5" /></Icon>;
export const Gear = () => <Icon><circle cx="8" cy="8" r="2" /><path d="M8 1.5v2M8 12.5v2M1.5 8h2M12.5 8h2M3.4 3.4l1.4 1.4M11.2 11.2l1.4 1.4M12.6 3.4l-1.4 1.4M4.8 11.2l-1.4 1.4" /><circle cx="8" cy="8" r="4.5" /></Icon>;
export const Down = () => <Icon><path d="M8 3v10M3.5 8.5 8 13l4.5-4.5" /></Icon>;
export const Gauge = () => <Icon><path d="M2 12a6 6 0 1 1 12 0M8 12l3-4.5M2.5 14h11" /></Icon>;
export const Brand = () => (
	<svg class="brand" viewBox="0 0 32 32" width="30" height="30" aria-hidden="true">
		<rect width="32" height="32" rx="9" />
		<path d="M7 9h12v9H7z" class="far" />
		<path d="M13 14h12v9H13z" class="near" />
	</svg>
);

const ONE = <path d="m5 8.5 3 3 6.5-7" />;
const TWO = <path d="m2 8.5 3 3 6.5-7M10 11l.6.5L17 4.5" />;

export function TickIcon({ tick }: { tick: Tick }): JSX.Element
{
	switch (tick) {
	case 'unsent':
		return <Icon wide><circle cx="11" cy="8" r="5.5" /><path d="M11 5v3l2 1.5" /></Icon>;
	case 'refused':
	case 'failed':
		return <Icon wide><circle cx="11" cy="8" r="5.5" /><path d="M11 5v3.5M11 11v.01" /></Icon>;
	case 'accepted':
		return <Icon wide>{ONE}</Icon>;
	default:
		return <Icon wide>{TWO}</Icon>;
	}
}

/** The meaning of each tick in words. */
export const tickWords: Record<Tick, string> = {
	unsent: 'Not sent yet',
	refused: 'Not sent',
	accepted: 'Accepted',
	delivered: 'Delivered',
	read: 'Read',
	failed: 'Failed',
};
