// SPDX-License-Identifier: MIT
// Examples, composed of those in the contract: a schema's own example, or its
// members' examples.  A string without one stops the build, so that no example
// on the page is filler.

import { type Call, type Contract, type Media, type Parameter, type Schema, answersOf, isNullable,
	isObject } from './contract.ts';

const WIDTH = 62;

const allows = (schema: Schema, type: string): boolean => [schema.type].flat().includes(type);

/** Returns an example of ${schema}; ${at} names the place in messages of errors. */
export function sampleOf(contract: Contract, schema: Schema, at: string): unknown
{
	const found = contract.find(schema);
	const examples = schema.examples ?? found.examples;

	if (examples)
		return examples[0];
	if (found.const !== undefined)
		return found.const;
	if (found.default !== undefined)
		return found.default;
	if (found.enum)
		return found.enum[0];
	const [first] = found.allOf ?? found.oneOf ?? [];
	if (first && !found.properties)
		return isNullable(found) && !isObject(contract.find(first)) ? null : sampleOf(contract, first, at);
	if (found.properties || allows(found, 'object'))
		return objectOf(contract, found, at);
	if (found.items)
		return [sampleOf(contract, found.items, `${at}[]`)];
	if (allows(found, 'null'))
		return null;
	if (allows(found, 'boolean'))
		return false;
	if (allows(found, 'integer') || allows(found, 'number'))
		return found.minimum ?? 0;
	throw new Error(`the contract has no example of ${at}: add examples: [...] to its schema`);
}

function objectOf(contract: Contract, schema: Schema, at: string): Record<string, unknown>
{
	const sample: Record<string, unknown> = {};

	for (const [name, member] of Object.entries(schema.properties ?? {}))
		if (schema.required?.includes(name) || contract.find(member).examples)
			sample[name] = sampleOf(contract, member, `${at}.${name}`);
	return sample;
}

/** Returns ${value} as JSON: what fits stands on one line. */
export function jsonOf(value: unknown, indent = '', room = WIDTH): string
{
	const flat = flatOf(value);

	if (indent.length + flat.length <= room || value === null || typeof value !== 'object')
		return flat;
	const deeper = `${indent}  `;
	const parts = Array.isArray(value) ? value.map((one) => jsonOf(one, deeper)) :
		Object.entries(value).map(([name, one]) => {
			const head = `${JSON.stringify(name)}: `;
			return head + jsonOf(one, deeper, WIDTH - head.length);
		});
	const [open, close] = Array.isArray(value) ? '[]' : '{}';
	return `${open}\n${parts.map((part) => deeper + part).join(',\n')}\n${indent}${close}`;
}

function flatOf(value: unknown): string
{
	if (Array.isArray(value))
		return `[${value.map(flatOf).join(', ')}]`;
	if (value === null || typeof value !== 'object')
		return JSON.stringify(value);
	return `{${Object.entries(value).map(([name, one]) => `${JSON.stringify(name)}: ${flatOf(one)}`).join(', ')}}`;
}

/** Returns an example of ${media} as text, or null if the contract has none for such a type. */
function textOf(contract: Contract, type: string, media: Media, at: string): string | null
{
	const json = /[/+]json$/.test(type);

	const example = media.example ?? Object.values(media.examples ?? {})[0]?.value;

	if (example !== undefined)
		return typeof example === 'string' && !json ? example.trimEnd() : jsonOf(example);
	return json && media.schema ? jsonOf(sampleOf(contract, media.schema, at)) : null;
}

const valueOf = (contract: Contract, parameter: Parameter, at: string): string =>
	String(parameter.example ?? sampleOf(contract, parameter.schema, `${at} ${parameter.name}`));

/** Returns ${text} in single quotes of a shell. */
const quoted = (text: string): string => `'${text.replace(/'/g, "'\\''")}'`;

/** Returns the path of ${call} with an example in place of each parameter, and its required query. */
function targetOf(contract: Contract, call: Call): string
{
	const value = (one: Parameter): string => encodeURIComponent(valueOf(contract, one, call.key)).replace(/%40/g, '@');
	const path = call.path.replace(/\{([^}]+)\}/g, (_, name) =>
		value(call.parameters.find((one) => one.in === 'path' && one.name === name)!));
	const query = call.parameters.filter((one) => one.in === 'query' && one.required)
		.map((one) => `${one.name}=${value(one)}`).join('&');

	return query ? `${path}?${query}` : path;
}

/** Returns a request of ${call}: a command line of curl, or the head of the request where curl cannot make it. */
export function requestOf(contract: Contract, call: Call): string
{
	const { method, operation, security } = call;
	const [type, media] = Object.entries(operation.requestBody?.content ?? {})[0] ?? [];
	// A body that need not be there and has no example is left out.
	const shown = media && (operation.requestBody!.required || media.example !== undefined ||
		media.schema && contract.find(media.schema).examples);
	const body = shown ? textOf(contract, type!, media, call.key) : null;
	const target = targetOf(contract, call);

	if (operation.responses['101'])
		return [`${method} ${target} HTTP/1.1`, 'Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13',
			'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==', 'Sec-WebSocket-Protocol: twinbox.v1',
			'Authorization: Bearer $TOKEN'].join('\n');
	if (security.some((one) => 'signature' in one))
		return [`${method} ${target} HTTP/1.1`, `Content-Type: ${type}`, 'Content-Digest: …', 'Signature-Input: …',
			'Signature: …', '', body].join('\n');
	const words = [`curl -sS ${method === 'GET' || method === 'POST' && body ? '' : `-X ${method} `}"$URL${target}"`];
	if (security.some((one) => 'bearer' in one))
		words.push('-H "Authorization: Bearer $TOKEN"');
	if (body) {
		if (type !== 'text/*')
			words.push(`-H 'Content-Type: ${type}'`);
		words.push(`-d ${quoted(body)}`);
	}
	return words.join(' \\\n  ');
}

/** Returns an answer to it: its status and, where the contract says it, its body. */
export function answerOf(contract: Contract, call: Call): { status: string; body: string | null }
{
	const later = call.operation.responses['501'];
	const [status, response] = later ? ['501', later] as const : answersOf(call)[0]!;
	const [type, media] = Object.entries(contract.find(response).content ?? {})[0] ?? [];
	return { status, body: media ? textOf(contract, type!, media, `${call.key} ${status}`) : null };
}
