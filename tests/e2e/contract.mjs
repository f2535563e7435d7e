// SPDX-License-Identifier: MIT
//
// Checks of the API's contract, applied to every answer and frame that any test
// receives: the conventions of the API, written here by hand, and the schemas
// of docs/openapi.yaml and docs/asyncapi.yaml, checked with ajv.  So that the
// check cannot silently do nothing, a missing document is a failure, and so is
// an answer whose status the document does not list.  (`default` lists nothing:
// it is for clients, which must be prepared for any status.) seen() returns the
// counts.
//
// The environment variable TWINBOX_CONTRACT is for work on the tests
// themselves. rules: skip the documents. rest: skip the document of the frames.
// report: print each difference once and go on.

import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import Ajv2020 from 'ajv/dist/2020.js';
import YAML from 'yaml';

const docs = path.join(path.dirname(fileURLToPath(import.meta.url)), '../../docs');
const rules_only = process.env.TWINBOX_CONTRACT === 'rules';
const no_frames = rules_only || process.env.TWINBOX_CONTRACT === 'rest';

const counts = { answers: 0, bodies: 0, frames: 0 };

/** Returns the number of checks so far: {answers, bodies, frames}. */
export function seen()
{
	return { ...counts };
}

let owed = false;

/**
 * States that this test file sends requests to a server.  It then fails at its
 * end if no answer was checked.
 */
export function expectAnswers()
{
	owed = true;
}

let ready_made = false;

/**
 * From now on servers may be out of memory.  Such a server answers 503 with a
 * text that was made when it started, which cannot contain the id of the
 * request.
 */
export function expectReadyMade()
{
	ready_made = true;
}

/* At its end a test file prints how much was checked. */
process.on('exit', () => {
	const { answers, bodies, frames } = counts;

	if (!/[.]test[.]mjs$/.test(process.argv[1] ?? '') || (!owed && answers + frames === 0))
		return;
	process.stdout.write(`contract: ${path.basename(process.argv[1])}: ` +
		`${answers} answers, ${bodies} bodies, ${frames} frames\n`);
	if (answers + frames === 0) {
		process.stdout.write('contract: a server was asked, and nothing that it said was checked\n');
		process.exitCode ||= 1;
	}
});

export const UUID =
	/^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
export const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

const told = new Map();

function fail(what, detail)
{
	throw new Error(`contract: ${what}: ${detail}`);
}

/** A difference from the documents: fails, or adds a line to the report. */
function differ(what, key, detail)
{
	if (process.env.TWINBOX_CONTRACT !== 'report')
		fail(what, detail);
	if (!told.has(key))
		process.stderr.write(`contract differs: ${what}: ${detail}\n`);
	told.set(key, (told.get(key) ?? 0) + 1);
}

// ---- the documents ---------------------------------------------------------

const ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: true });
ajv.addFormat('uuid', UUID);
ajv.addFormat('date-time', TIME);
ajv.addFormat('int64', true);
ajv.addFormat('int32', true);
ajv.addFormat('uri', true);
ajv.addFormat('uri-reference', true);
ajv.addFormat('password', true);
ajv.addFormat('double', true);
ajv.addFormat('float', true);
ajv.addFormat('binary', true);

const compiled = new Map();
const loaded = new Map();

/** Returns docs/${name}, parsed, and registers it with ajv under that name. */
export function document(name)
{
	let doc = loaded.get(name);

	if (!doc) {
		doc = YAML.parse(fs.readFileSync(path.join(docs, name), 'utf8'));
		loaded.set(name, doc);
		// $schema is a keyword that ajv would interpret.  It ignores
		// the other members of the document.
		ajv.addSchema({ ...doc, $schema: undefined, $id: `file:/${name}` });
	}
	return doc;
}

const pointer = (...parts) => parts.map((part) =>
	'/' + encodeURIComponent(String(part).replaceAll('~', '~0').replaceAll('/', '~1'))).join('');

function validator(name, place)
{
	const ref = `file:/${name}#${place}`;

	if (!compiled.has(ref))
		compiled.set(ref, ajv.compile({ $ref: ref }));
	return compiled.get(ref);
}

/** Follows local references.  Returns [object, its place]. */
function resolve(doc, object, place)
{
	while (object?.$ref) {
		const parts = object.$ref.replace(/^#\//, '').split('/').map((part) =>
			decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~'));
		place = pointer(...parts);
		object = parts.reduce((at, part) => at?.[part], doc);
	}
	return [object, place];
}

function errorsOf(validate)
{
	return validate.errors.slice(0, 5).map((error) =>
		`${error.instancePath || '/'} ${error.message} ${JSON.stringify(error.params)}`).join('; ');
}

// ---- REST ------------------------------------------------------------------

let paths;

/** Returns the path template of openapi.yaml that matches ${target}. */
export function template(target)
{
	const doc = document('openapi.yaml');
	const where = target?.replace(/[?#].*$/, '');

	paths ??= Object.keys(doc.paths).map((name) => ({
		name,
		fixed: (name.match(/\{/g) ?? []).length,
		match: new RegExp(`^${name.replace(/[.]/g, '\\.').replace(/\{[^}]+\}/g, '[^/]+')}$`),
	})).sort((a, b) => a.fixed - b.fixed);
	return paths.find((one) => where !== undefined && one.match.test(where))?.name;
}

function checkBody(what, key, place, body)
{
	const validate = validator('openapi.yaml', place);

	counts.bodies++;
	if (!validate(body)) {
		differ(what, `${key} ${errorsOf(validate)}`,
			`${errorsOf(validate)}: ${JSON.stringify(body).slice(0, 600)}`);
	}
}

/**
 * Statuses of refusals for requests that match no operation.  Any path may have
 * them.
 */
const ANYWHERE = [400, 401, 404, 405, 417, 429, 431, 501, 503];

/** Returns true if any operation lists ${status}. */
function isListed(doc, status)
{
	return Object.values(doc.paths).some((item) =>
		Object.values(item).some((operation) => operation.responses?.[status]));
}

function checkNoOperation({ method, target, status, body }, what)
{
	if (method === 'OPTIONS' && status === 204)
		return;
	if (!ANYWHERE.includes(status) &&
	    !(target === undefined && isListed(document('openapi.yaml'), status)))
		return differ(what, what, 'openapi.yaml has no such operation');
	if (status >= 400 && body !== undefined)
		checkBody(what, what, pointer('components', 'schemas', 'Problem'), body);
}

function checkDocumented(answer)
{
	const { method, target, status, headers, body } = answer;
	const doc = document('openapi.yaml');
	const name = template(target);
	const verb = method === 'HEAD' ? 'get' : method.toLowerCase();
	const operation = doc.paths[name]?.[verb];
	const what = `${method} ${target} ${status}`;

	if (!operation)
		return checkNoOperation(answer, what);
	const [response, place] = resolve(doc, operation.responses[status],
		pointer('paths', name, verb, 'responses', status));
	if (!response)
		return differ(what, `${method} ${name} ${status}`, 'openapi.yaml does not list this status');
	if (method === 'HEAD')
		return;
	const type = (headers.get('content-type') ?? '').replace(/;.*$/, '').trim();
	if (!response.content) {
		if (body !== undefined)
			return differ(what, `${method} ${name} ${status}`, 'openapi.yaml knows no body here');
		return;
	}
	const content = response.content[type];
	if (!content)
		return differ(what, `${method} ${name} ${type}`, `openapi.yaml does not list the type ${type}`);
	if (body === undefined || !content.schema)
		return;
	checkBody(what, `${method} ${name} ${status}`, place + pointer('content', type, 'schema'), body);
}

function checkProblem({ method, target, status, headers, body }, url)
{
	const what = `${method} ${target} ${status}`;

	if (!/^application\/problem\+json/.test(headers.get('content-type') ?? ''))
		fail(what, `no problem document: ${headers.get('content-type')}`);
	checkProblemBody(body, what, url);
	if (body.status !== status)
		fail(what, `the problem says ${body.status}`);
	if (body.request_id !== (headers.get('x-request-id') ?? undefined))
		fail(what, `request_id ${body.request_id} is not X-Request-Id`);
	if (status === 401 && headers.get('www-authenticate') !==
	    (['unauthenticated', 'wrong_password', 'one_time_password'].includes(body.code) ? 'Bearer' : 'Signature'))
		fail(what, 'no WWW-Authenticate');
	if (status === 405 && !headers.get('allow'))
		fail(what, 'no Allow');
	if (status === 429 || status === 503) {
		if (!/^\d+$/.test(headers.get('retry-after') ?? ''))
			fail(what, 'no Retry-After');
		if (!Number.isInteger(body.retry_after))
			fail(what, 'no retry_after');
	}
}

function checkProblemBody(body, what, url)
{
	for (const member of ['type', 'title', 'detail', 'code']) {
		if (typeof body?.[member] !== 'string' || body[member] === '')
			fail(what, `the problem has no ${member}: ${JSON.stringify(body)}`);
	}
	const type = new URL(body.type, url ?? 'http://localhost');
	if (url && type.origin !== new URL(url).origin)
		fail(what, `type ${body.type} is not on this server`);
	if (type.pathname !== `/problems/${body.code.replaceAll('_', '-')}`)
		fail(what, `type ${body.type} does not fit code ${body.code}`);
	if (!Number.isInteger(body.status))
		fail(what, 'the problem has no status');
	if (body.pointer !== undefined && !/^(\/|$)/.test(body.pointer))
		fail(what, `pointer ${body.pointer} is no JSON pointer`);
}

/**
 * Checks an answer of Rest.request(), and throws if it breaks the contract.
 * For an answer without a target the request is unknown: its status must be
 * listed for some operation, and a refusal must be a problem document.
 */
export function checkAnswer(answer, url)
{
	const { method, target, status, headers, body } = answer;
	const what = `${method} ${target} ${status}`;

	counts.answers++;
	if (!headers.get('x-request-id') && !(ready_made && status === 503))
		fail(what, 'no X-Request-Id');
	if (method === 'HEAD')
		return rules_only ? undefined : checkDocumented(answer);
	// Answers of stand-ins in tests have no text.
	if (/json/.test(headers.get('content-type') ?? '') && (answer.text ?? '') !== '' && !answer.text.endsWith('\n'))
		fail(what, 'JSON without a newline at its end');
	if (status >= 400)
		checkProblem(answer, url);
	else if (target?.startsWith('/v1') && body !== undefined &&
	    !/no-store/.test(headers.get('cache-control') ?? ''))
		fail(what, 'no Cache-Control: no-store');
	if (body?.events)
		checkEvents(body.events, what);
	if (!rules_only)
		checkDocumented(answer);
}

function checkEvents(events, what)
{
	for (let i = 1; i < events.length; i++) {
		if (events[i].seq !== events[i - 1].seq + 1) {
			fail(what, `a hole in the inbox: seq ${events[i].seq} ` +
				`after ${events[i - 1].seq}`);
		}
	}
}

// ---- streams ---------------------------------------------------------------

/**
 * Checks the data of an event of a stream.  ${name} is the type of the event,
 * by default "message".
 */
export function checkStreamEvent(name, data)
{
	const what = `stream event ${name} ${JSON.stringify(data).slice(0, 300)}`;

	if (rules_only)
		return;
	const place = ['paths', '/v1/inbox', 'get', 'responses', '200', 'content', 'text/event-stream', 'x-events'];
	const events = place.reduce((at, part) => at?.[part], document('openapi.yaml'));
	if (!Object.hasOwn(events, name))
		fail(what, 'openapi.yaml has no such event');
	checkBody(what, what, pointer(...place, name), data);
}

// ---- WebSocket -------------------------------------------------------------

let frame_schemas;

function framesOf(doc)
{
	const found = new Map();

	for (const [name, message] of Object.entries(doc.components.messages)) {
		const [object, place] = resolve(doc, message,
			pointer('components', 'messages', name));
		const [payload, payload_place] = resolve(doc, object.payload,
			place + pointer('payload'));
		const [type] = resolve(doc, payload?.properties?.type);
		const value = type?.const ?? type?.enum?.[0];
		if (value)
			found.set(`${value}`, [...found.get(value) ?? [], payload_place]);
	}
	return found;
}

/** Checks a frame that the server has sent. */
export function checkFrame(frame)
{
	const what = `frame ${JSON.stringify(frame).slice(0, 300)}`;

	counts.frames++;
	if (typeof frame.type !== 'string')
		fail(what, 'no type');
	if (Object.keys(frame)[0] !== 'type')
		fail(what, 'type is not the first member');
	if (frame.type === 'error')
		checkProblemBody(frame.problem, what);
	if (no_frames)
		return;
	document('openapi.yaml'); // asyncapi.yaml refers to it
	frame_schemas ??= framesOf(document('asyncapi.yaml'));
	const places = frame_schemas.get(frame.type);
	if (!places)
		return differ(what, frame.type, 'asyncapi.yaml has no such message');
	const validates = places.map((place) => validator('asyncapi.yaml', place));
	if (!validates.some((validate) => validate(frame)))
		differ(what, `${frame.type} ${errorsOf(validates[0])}`, errorsOf(validates[0]));
}
