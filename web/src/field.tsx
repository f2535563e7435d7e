// SPDX-License-Identifier: MIT
// A labelled field of a form, with its hint and its error.

import type { JSX } from 'preact';

export function Field(props: { id: string; label: string; name: string; hint?: string; value: string;
	type?: string; complete?: string; min?: number; max: number; pattern?: string;
	wrong?: string; change: (value: string) => void; }): JSX.Element
{
	const { id } = props;
	const described = [props.wrong && `${id}-wrong`, props.hint && `${id}-hint`].filter(Boolean);
	return (
		<div class="field">
			<label for={id}>{props.label}</label>
			<input id={id} name={props.name} type={props.type ?? 'text'} value={props.value}
				required minLength={props.min} maxLength={props.max} pattern={props.pattern}
				autocomplete={props.complete ?? 'off'} autocapitalize="none"
				spellcheck={false} aria-invalid={props.wrong ? true : undefined}
				aria-describedby={described.join(' ') || undefined}
				onInput={(event) => props.change(event.currentTarget.value)} />
			{props.wrong && <p class="wrong" role="alert" id={`${id}-wrong`}>{props.wrong}</p>}
			{props.hint && <p class="hint" id={`${id}-hint`}>{props.hint}</p>}
		</div>
	);
}
