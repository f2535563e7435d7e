// SPDX-License-Identifier: MIT
// The API reference: docs/openapi.yaml as one page of HTML without scripts,
// rendered when twinbox is built.  Each operation has its parameters, its body,
// its answers, the problems it can answer, and an example.

import type { ComponentChildren, JSX } from 'preact';
import { renderToString } from 'preact-render-to-string';

import { Brand } from '../icons.tsx';
import { type Call, Contract, type Document, type Media, type Parameter, type Response, type Schema, answersOf, isObject,
	 problemsOf, refName } from './contract.ts';
import { answerOf, jsonOf, requestOf, sampleOf } from './sample.ts';
import { Line, Text, commas, limitsOf, rowsOf, togetherOf, typeOf } from './words.tsx';

const TITLES: Record<string, string> = { account: 'Account', messages: 'Messages', inbox: 'Inbox', outbox: 'Outbox',
	conversations: 'Conversations', push: 'Push', server: 'Server', federation: 'Federation', admin: 'Administration' };

const Method = ({ method }: { method: string }) => <span class={`method ${method.toLowerCase()}`}>{method}</span>;

/** A path that may be broken behind each of its segments. */
const Path = ({ path }: { path: string }) =>
	<code class="path">{path.split(/(?=\/)/).map((part) => <>{part}<wbr /></>)}</code>;

const Code = ({ text, label }: { text: string; label: string }) =>
	<pre tabIndex={0} role="region" aria-label={label}><code>{text}</code></pre>;

function Table(props: { heads: string[]; children: ComponentChildren }): JSX.Element
{
	return (
		<table>
			<thead><tr>{props.heads.map((head) => <th scope="col">{head}</th>)}</tr></thead>
			<tbody>{props.children}</tbody>
		</table>
	);
}

/** The description of a value, and its limits in a line of their own. */
function Meaning({ text, schema }: { text: string | undefined; schema: Schema }): JSX.Element
{
	const limits = limitsOf(schema);

	return (
		<td>
			<Line text={text} />
			{limits.length > 0 && <span class="limits">{commas(limits)}</span>}
		</td>
	);
}

function Members({ schema }: { schema: Schema }): JSX.Element
{
	return (
		<Table heads={['Member', 'Type', 'Meaning']}>
			{rowsOf(schema).map((row) => (
				<tr>
					<th scope="row"><code><span class="soft">{row.prefix}</span>{row.name}</code>
						{!row.required && <span class="optional">optional</span>}</th>
					<td>{typeOf(row.schema)}</td>
					<Meaning text={row.schema.description} schema={row.schema} />
				</tr>))}
		</Table>
	);
}

/** A named schema: an object with its members, a list, or a choice. */
function Named({ contract, name, level: Heading }: { contract: Contract; name: string; level: 'h3' | 'h5' }): JSX.Element
{
	const schema = contract.schema(name);

	return (
		<section class="schema">
			<Heading id={name}><a href={`#${name}`}>{name}</a></Heading>
			<Text text={schema.description} />
			{togetherOf(schema)}
			{schema.properties ? <Members schema={schema} /> :
				<p>{schema.oneOf ? 'One of: ' : ''}{typeOf(schema)}{limitsOf(schema).map((limit) => <>, {limit}</>)}.</p>}
		</section>
	);
}

const PLACES = ['path', 'query', 'header'] as const;

function Parameters({ parameters }: { parameters: Parameter[] }): JSX.Element
{
	return (
		<>
			<h4>Parameters</h4>
			<Table heads={['Name', 'Type', 'Meaning']}>
				{PLACES.flatMap((place) => parameters.filter((one) => one.in === place)).map((one) => (
					<tr>
						<th scope="row"><code>{one.name}</code>
							<span class="optional">{one.in}{!one.required && ', optional'}</span></th>
						<td>{typeOf(one.schema)}</td>
						<Meaning text={one.description ?? one.schema.description} schema={one.schema} />
					</tr>))}
			</Table>
		</>
	);
}

/** The types of a body, each with the schema of its content. */
function Content({ content }: { content: Record<string, Media> }): JSX.Element
{
	return (
		<ul class="content">
			{Object.entries(content).map(([type, media]) => (
				<li>
					<code>{type}</code>
					{media.schema && (media.schema.$ref || isObject(media.schema)) && <>: {typeOf(media.schema)}</>}
					{media.schema?.description && <Text text={media.schema.description} />}
					{media['x-events'] && <ul>{Object.entries(media['x-events']).map(([name, schema]) =>
						<li>event <code>{name}</code>: {typeOf(schema)}</li>)}</ul>}
				</li>))}
		</ul>
	);
}

const Headers = ({ names }: { names: string[] }) => names.length === 0 ? null :
	<p class="headers">Headers: {commas(names.map((name) => <a href={`#header-${name}`}>{name}</a>))}</p>;

function Answer({ status, response }: { status: string; response: Response }): JSX.Element
{
	return (
		<div class="answer">
			<dt><span class="status">{status}</span></dt>
			<dd>
				<Text text={response.description} />
				{response.content && <Content content={response.content} />}
				<Headers names={Object.keys(response.headers ?? {})} />
			</dd>
		</div>
	);
}

/** The problem codes that the description of ${response} names. */
function codesIn(contract: Contract, response: Response): string[]
{
	return [...response.description.matchAll(/(?<![\w-])[a-z]+(?:-[a-z]+)*(?![\w-])/g)].map(([word]) => word)
		.filter((word, n, all) => contract.slugs.has(word) && all.indexOf(word) === n);
}

function Problems({ contract, call }: { contract: Contract; call: Call }): JSX.Element
{
	return (
		<>
			<h4>Problems</h4>
			<ul class="problems">
				{problemsOf(call).map(([status, response]) => {
					const codes = codesIn(contract, contract.find(response));
					return (
						<li>
							<a href={`#problem-${refName(response.$ref ?? '')}`}>
								<b>{status === 'default' ? 'other' : status}</b>{' '}
								{codes.length > 0 ? codes.join(', ') : 'any other problem'}
							</a>
						</li>
					);
				})}
			</ul>
		</>
	);
}

function Access({ call }: { call: Call }): JSX.Element
{
	const names = call.security.flatMap((one) => Object.keys(one));
	const optional = call.security.some((one) => Object.keys(one).length === 0);
	const words = names.length === 0 ? 'no token needed' :
		names.includes('signature') ? 'signed by another server' :
			optional ? 'token optional' :
				call.operation.tags.includes('admin') ? 'token of an administrator' : 'token needed';

	return <span class="access">{names.length > 0 ? <a href="#chapter-access">{words}</a> : words}</span>;
}

function Example({ contract, call }: { contract: Contract; call: Call }): JSX.Element
{
	const { status, body } = answerOf(contract, call);

	return (
		<div class="example">
			<h4>Example</h4>
			<Code label={`Request: ${call.operation.summary}`} text={requestOf(contract, call)} />
			<p class="status-line"><span class={`status ${/^[45]/.test(status) ? 'bad' : ''}`}>{status}</span>
				{body === null && call.operation.responses[status]?.content === undefined && ' without a body'}</p>
			{body !== null && <Code label={`Answer: ${call.operation.summary}`} text={body} />}
		</div>
	);
}

function Operation({ contract, call }: { contract: Contract; call: Call }): JSX.Element
{
	const { operation } = call;
	const later = operation['x-status'] === 'later';

	return (
		<section class="operation">
			<div class="facts">
				<h3 id={call.key}><a href={`#${call.key}`}>{operation.summary}</a></h3>
				<p class="call"><Method method={call.method} /> <Path path={call.path} /> <Access call={call} /></p>
				{later && <p class="later">Not in this version: the answer is 501.</p>}
				<Text text={operation.description} />
				{call.parameters.length > 0 && <Parameters parameters={call.parameters} />}
				{operation.requestBody && <>
					<h4>Body</h4>
					<Content content={operation.requestBody.content} />
				</>}
				{!later && <>
					<h4>Answers</h4>
					<dl>{answersOf(call).map(([status, response]) =>
						<Answer status={status} response={contract.find(response)} />)}</dl>
				</>}
				<Problems contract={contract} call={call} />
				{call.own.map((name) => <Named contract={contract} name={name} level="h5" />)}
			</div>
			<Example contract={contract} call={call} />
		</section>
	);
}

function Group({ contract, tag }: { contract: Contract; tag: Document['tags'][number] }): JSX.Element
{
	return (
		<section>
			<h2 id={`chapter-${tag.name}`}><a href={`#chapter-${tag.name}`}>{TITLES[tag.name] ?? tag.name}</a></h2>
			<p class="lead">{tag.description}</p>
			<ul class="index">
				{contract.of(tag.name).map(({ key, method, path, operation }) => (
					<li>
						<a href={`#${key}`}><Method method={method} /> <Path path={path} /></a>
						<span>{operation.summary}{operation['x-status'] === 'later' && <em> (not in this version)</em>}</span>
					</li>))}
			</ul>
			{contract.of(tag.name).map((call) => <Operation contract={contract} call={call} />)}
		</section>
	);
}

/** Every kind of problem document once, with the statuses that it comes with. */
function ProblemKinds({ contract }: { contract: Contract }): JSX.Element
{
	const statuses = new Map<string, Set<string>>();

	for (const call of contract.calls)
		for (const [status, response] of problemsOf(call)) {
			const name = refName(response.$ref ?? '');
			statuses.set(name, (statuses.get(name) ?? new Set()).add(status));
		}
	return (
		<section>
			<h2 id="chapter-problems"><a href="#chapter-problems">Problems</a></h2>
			<p class="lead">Every answer of 400 and above is a problem document of RFC 9457, of the
				type <code>application/problem+json</code>. Its <code>code</code> is the name below with
				underscores; the name leads to the cause and the cure.</p>
			<dl>
				{[...statuses].sort(([, a], [, b]) => [...a][0]! < [...b][0]! ? -1 : 1).map(([name, ones]) => {
					const response = contract.doc.components.responses[name]!;
					return (
						<div class="answer" id={`problem-${name}`}>
							<dt>{[...ones].map((one) => <span class="status bad">{one === 'default' ? 'other' : one}</span>)}</dt>
							<dd>
								<Text text={response.description} slugs={contract.slugs} />
								<Headers names={Object.keys(response.headers ?? {})} />
							</dd>
						</div>
					);
				})}
			</dl>
			<Named contract={contract} name="Problem" level="h3" />
			<Code label="Example of a problem document"
				text={jsonOf(sampleOf(contract, { $ref: '#/components/schemas/Problem' }, 'Problem'))} />
		</section>
	);
}

function Schemas({ contract }: { contract: Contract }): JSX.Element
{
	const names = contract.shared.filter((name) => name !== 'Problem');
	const [objects, values] = [true, false].map((which) =>
		names.filter((name) => isObject(contract.schema(name)) === which));

	return (
		<>
			<section>
				<h2 id="chapter-objects"><a href="#chapter-objects">Objects</a></h2>
				<p class="lead">Objects that several operations take or answer.</p>
				{objects!.map((name) => <Named contract={contract} name={name} level="h3" />)}
			</section>
			<section>
				<h2 id="chapter-values"><a href="#chapter-values">Values</a></h2>
				<Table heads={['Name', 'Type', 'Meaning']}>
					{values!.map((name) => {
						const schema = contract.schema(name);
						return (
							<tr id={name}>
								<th scope="row"><code>{name}</code></th>
								<td>{typeOf(schema)}</td>
								<Meaning text={schema.description} schema={schema} />
							</tr>
						);
					})}
				</Table>
			</section>
			<section>
				<h2 id="chapter-headers"><a href="#chapter-headers">Headers of answers</a></h2>
				<Table heads={['Name', 'Type', 'Meaning']}>
					{Object.entries(contract.doc.components.headers).map(([name, header]) => (
						<tr id={`header-${name}`}>
							<th scope="row"><code>{name}</code></th>
							<td>{typeOf(header.schema)}</td>
							<Meaning text={header.description} schema={header.schema} />
						</tr>))}
				</Table>
			</section>
		</>
	);
}

function Contents({ contract }: { contract: Contract }): JSX.Element
{
	return (
		<nav aria-label="Contents">
			<ul>
				<li><a href="#chapter-introduction">Introduction</a></li>
				<li><a href="#chapter-access">Access</a></li>
				{contract.doc.tags.map(({ name }) => (
					<li>
						<a href={`#chapter-${name}`}>{TITLES[name] ?? name}</a>
						<ul>
							{contract.of(name).map(({ key, method, path, operation }) => (
								<li class={operation['x-status']}>
									<a href={`#${key}`}><Method method={method} /> <Path path={path} /></a>
								</li>))}
						</ul>
					</li>))}
				<li><a href="#chapter-problems">Problems</a></li>
				<li><a href="#chapter-objects">Objects</a></li>
				<li><a href="#chapter-values">Values</a></li>
				<li><a href="#chapter-headers">Headers</a></li>
			</ul>
		</nav>
	);
}

function Reference({ contract }: { contract: Contract }): JSX.Element
{
	const { info, components } = contract.doc;

	return (
		<>
			<header>
				<Brand />
				<p class="title"><a href="#chapter-introduction">{info.title} API</a></p>
				<p class="links"><a href="/openapi.yaml">OpenAPI</a> <a href="/asyncapi.yaml">AsyncAPI</a> <a href="/problems">Problems</a>{' '}
					<a href="/">Chat</a></p>
			</header>
			<Contents contract={contract} />
			<main>
				<section class="introduction">
					<h1 id="chapter-introduction">API reference</h1>
					<p class="lead">{info.summary} Version {info.version} of the contract.</p>
					<Text text={info.description} />
				</section>
				<section>
					<h2 id="chapter-access"><a href="#chapter-access">Access</a></h2>
					<dl class="access">
						{Object.entries(components.securitySchemes).map(([name, { description }]) => (
							<div><dt><code>{name}</code></dt><dd><Text text={description} /></dd></div>))}
					</dl>
					<p>The examples are for a shell in which <code>URL</code> is the address of the server
						and <code>TOKEN</code> a token:</p>
					<Code label="The variables of the examples" text={'export URL=http://127.0.0.1:8080 TOKEN=tb_…\n' +
						'curl -sS "$URL/v1" -H "Authorization: Bearer $TOKEN"'} />
				</section>
				{contract.doc.tags.map((tag) => <Group contract={contract} tag={tag} />)}
				<ProblemKinds contract={contract} />
				<Schemas contract={contract} />
			</main>
		</>
	);
}

/** Returns the inside of the body of the page about ${doc}. */
export function render(doc: Document): string
{
	return renderToString(<Reference contract={new Contract(doc)} />);
}
