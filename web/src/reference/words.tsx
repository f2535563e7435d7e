// SPDX-License-Identifier: MIT
// Schemas in words: their types as links, their limits, the rows of a table of
// members; and descriptions, which are Markdown, as elements.

import { type Token, type Tokens, lexer } from 'marked';
import type { ComponentChildren, JSX } from 'preact';

import { type Schema, isNullable, refName } from './contract.ts';


/** A slug of a problem, between characters that are not part of a longer word. */
const SLUG = /(?<![\w-])[a-z]+(?:-[a-z]+)*(?![\w-])/g;

function linked(text: string, slugs: Set<string>): ComponentChildren[]
{
	const parts: ComponentChildren[] = [];
	let from = 0;

	for (const { 0: word, index } of text.matchAll(SLUG))
		if (slugs.has(word)) {
			parts.push(text.slice(from, index), <a href={`/problems/${word}`}><code>{word}</code></a>);
			from = index + word.length;
		}
	return [...parts, text.slice(from)];
}

/** The characters that marked escapes in code and text. */
const plain = (text: string): string => text.replace(/&(amp|lt|gt|quot|#39);/g,
	(_, name: string) => ({ amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" })[name]!);

function inline(tokens: Token[], links: Set<string>): ComponentChildren[]
{
	return tokens.map((token) => {
		switch (token.type) {
		case 'text':
			return token.tokens ? inline(token.tokens, links) : linked(plain(token.text), links);
		case 'escape':
			return plain(token.text);
		case 'codespan':
			return <code>{plain(token.text)}</code>;
		case 'strong':
			return <strong>{inline(token.tokens!, links)}</strong>;
		case 'em':
			return <em>{inline(token.tokens!, links)}</em>;
		case 'link':
			return <a href={token.href}>{inline(token.tokens!, links)}</a>;
		default:
			throw new Error(`the reference cannot show Markdown of the type ${token.type}: ${token.raw}`);
		}
	});
}

function block(token: Token, links: Set<string>): ComponentChildren
{
	switch (token.type) {
	case 'space':
		return null;
	case 'paragraph':
		return <p>{inline(token.tokens!, links)}</p>;
	case 'text':
		return inline(token.tokens ?? [token], links);
	case 'list':
		return <ul>{(token as Tokens.List).items.map((item) =>
			<li>{item.tokens.map((one) => block(one, links))}</li>)}</ul>;
	case 'code':
		return <pre tabIndex={0}><code>{token.text}</code></pre>;
	case 'table': {
		const { header, rows } = token as Tokens.Table;
		return (
			<table>
				<thead><tr>{header.map((cell) => <th>{inline(cell.tokens, links)}</th>)}</tr></thead>
				<tbody>{rows.map((row) => <tr>{row.map((cell) => <td>{inline(cell.tokens, links)}</td>)}</tr>)}</tbody>
			</table>
		);
	}
	default:
		throw new Error(`the reference cannot show Markdown of the type ${token.type}: ${token.raw}`);
	}
}

const NONE = new Set<string>();

/** ${text}, which is Markdown, as blocks; with ${slugs}, the slugs of problems in it are links. */
export function Text({ text, slugs = NONE }: { text: string | undefined; slugs?: Set<string> }): JSX.Element | null
{
	return text ? <>{lexer(text).map((token) => block(token, slugs))}</> : null;
}

/** The same inside of a line. */
export function Line({ text, slugs = NONE }: { text: string | undefined; slugs?: Set<string> }): JSX.Element | null
{
	const tokens = lexer(text ?? '');

	return tokens.every((token) => token.type === 'paragraph' || token.type === 'space') ?
		<>{tokens.map((token, n) => <>{n > 0 && ' '}{inline((token as Tokens.Paragraph).tokens ?? [], slugs)}</>)}</> :
		<Text text={text} slugs={slugs} />;
}

const NAMES: Record<string, string> = { uuid: 'UUID', 'date-time': 'time', uri: 'URI', 'uri-reference': 'path' };

export const commas = (parts: ComponentChildren[], last = ', '): ComponentChildren[] =>
	parts.flatMap((part, n) => n === 0 ? [part] : [n === parts.length - 1 ? last : ', ', part]);

const codes = (values: unknown[]): ComponentChildren[] =>
	values.filter((value) => value !== null).map((value) => <code>{String(value)}</code>);

/** The names of ${required} of each alternative: "`upto`, or `conversation` and `id`". */
function choiceOf(alternatives: Schema[]): ComponentChildren[]
{
	return commas(alternatives.map((one) => commas(codes(one.required ?? []), ' and ')), ' or ');
}

/** The type of ${schema} in words, named schemas as links to their tables. */
export function typeOf(schema: Schema): ComponentChildren
{
	if (schema.$ref)
		return <a href={`#${refName(schema.$ref)}`}>{refName(schema.$ref)}</a>;
	const nullable = isNullable(schema);
	const alternatives = (schema.oneOf ?? schema.anyOf ?? []).filter((one) => one.type !== 'null' && !one.required);
	if (alternatives.length > 0 && !schema.properties)
		return commas([...alternatives.map(typeOf), ...nullable ? ['null'] : []], ' or ');
	if (schema.allOf)
		return typeOf(schema.allOf[0]!);
	if (schema.const !== undefined)
		return <code>{JSON.stringify(schema.const)}</code>;
	if (schema.enum)
		return commas([...codes(schema.enum), ...schema.enum.includes(null) ? ['null'] : []], ' or ');
	const [type = 'any'] = [schema.type ?? []].flat().filter((one) => one !== 'null');
	const name = type === 'array' ? <>array of {typeOf(schema.items ?? {})}</> :
		NAMES[schema.format ?? ''] ?? (type === 'object' && typeof schema.additionalProperties === 'object' && !schema.properties ?
			<>object of {typeOf(schema.additionalProperties)}</> : type);
	return nullable ? <>{name} or null</> : name;
}

function span(least: number | undefined, most: number | undefined, unit: string): string
{
	const number = (n: number): string => n.toLocaleString('en');
	const s = (n: number): string => n === 1 || unit === '' ? unit : `${unit}s`;

	if (least !== undefined && most !== undefined)
		return least === most ? `${number(least)}${s(least)}` : `${number(least)} to ${number(most)}${s(most)}`;
	if (most !== undefined)
		return `at most ${number(most)}${s(most)}`;
	return least !== undefined && (least > 1 || unit === '') ? `at least ${number(least)}${s(least)}` : '';
}

/** The limits of ${schema}, and its default, as short texts. */
export function limitsOf(schema: Schema): ComponentChildren[]
{
	const item = schema.allOf ? [] : [schema.items?.allOf?.find((one) => one.anyOf)?.anyOf ?? []].flat();
	const parts: ComponentChildren[] = [
		span(schema.minimum === 0 && schema.maximum === undefined ? undefined : schema.minimum, schema.maximum, ''),
		span(schema.minLength, schema.maxLength, ' character'),
		span(schema.minItems, schema.maxItems, ' item'),
		span(undefined, schema.maxProperties, ' member'),
		schema.uniqueItems ? 'without duplicates' : '',
		schema.pattern ? <>matches <code>{schema.pattern}</code></> : '',
		item.length > 0 ? <>each with {choiceOf(item)}</> : '',
		schema.default !== undefined ? <>default <code>{String(schema.default)}</code></> : '',
	];

	return parts.filter((part) => part !== '');
}

/** A sentence about members that belong together, or null. */
export function togetherOf(schema: Schema): ComponentChildren
{
	const alternatives = (schema.oneOf ?? []).filter((one) => one.required);

	return schema.properties && alternatives.length > 0 ? <p>Exactly one of: {choiceOf(alternatives)}.</p> : null;
}

export interface Row {
	/** The names of the objects around the member, each with its dot. */
	prefix: string;
	name: string;
	schema: Schema;
	required: boolean;
}

/** The members of ${schema}, and behind each unnamed object its members. */
export function rowsOf(schema: Schema, prefix = ''): Row[]
{
	return Object.entries(schema.properties ?? {}).flatMap(([name, member]) => {
		const inside = member.items && !member.items.$ref ? member.items : member;
		return [{ prefix, name, schema: member, required: schema.required?.includes(name) ?? false },
			...rowsOf(inside, `${prefix}${name}${inside === member ? '' : '[]'}.`)];
	});
}


