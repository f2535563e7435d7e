// SPDX-License-Identifier: MIT
//
// The gate for the contract's documents: check-api-docs.mjs [ROOT].
// docs/openapi.yaml and docs/asyncapi.yaml are valid by the JSON schemas of
// OpenAPI 3.1 and AsyncAPI 3.0, every reference leads somewhere, every
// component is used, every example fits its schema, every operation has its
// id, summary, tag and answers, and the problem codes are those of
// server/model/refusal.h.  Prints what is wrong and counts what it saw;
// nothing seen is a failure.

import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { Validator } from '@seriousme/openapi-schema-validator';
import Ajv from 'ajv';
import Ajv2020 from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import YAML from 'yaml';

const here = path.dirname(fileURLToPath(import.meta.url));
const root = process.argv[2] ?? path.join(here, '../..');
const METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch'];

const seen = { operations: 0, responses: 0, messages: 0, references: 0, examples: 0, problems: 0 };
let errors = 0;

function wrong(place, text)
{
	process.stdout.write(`${place}: ${text}\n`);
	errors++;
}

function load(name)
{
	try {
		return YAML.parse(fs.readFileSync(path.join(root, 'docs', name), 'utf8'));
	} catch (error) {
		wrong(name, error.message.split('\n')[0]);
		return undefined;
	}
}

const docs = { 'openapi.yaml': load('openapi.yaml'), 'asyncapi.yaml': load('asyncapi.yaml') };

// ---- references ------------------------------------------------------------

/** What ${ref}, which stands in document ${name}, leads to: [object, document, pointer]. */
function follow(name, ref)
{
	const [file, pointer] = ref.split('#');
	const where = file === '' ? name : path.basename(file);
	const parts = (pointer ?? '').split('/').slice(1).map((part) =>
		decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~'));

	return [parts.reduce((at, part) => at?.[part], docs[where]), where, pointer];
}

/** Follows references until there is something: [object, document]. */
function resolve(name, object)
{
	for (let i = 0; object?.$ref !== undefined && i < 20; i++)
		[object, name] = follow(name, object.$ref);
	return [object, name];
}

const used = new Set();

function walk(name, object, place)
{
	if (object === null || typeof object !== 'object')
		return;
	if (typeof object.$ref === 'string') {
		const [to, where, pointer] = follow(name, object.$ref);
		seen.references++;
		used.add(`${where}#${pointer}`);
		if (to === undefined)
			wrong(`${name} ${place}`, `${object.$ref} leads nowhere`);
	}
	for (const [key, value] of Object.entries(object))
		walk(name, value, `${place}/${key}`);
}

function checkUnused(name)
{
	const doc = docs[name];

	for (const kind of ['schemas', 'responses', 'parameters', 'headers', 'requestBodies', 'messages']) {
		for (const key of Object.keys(doc.components?.[kind] ?? {})) {
			if (!used.has(`${name}#/components/${kind}/${key}`))
				wrong(`${name} /components/${kind}/${key}`, 'is used by nobody');
		}
	}
}

// ---- examples --------------------------------------------------------------

const ajv = new Ajv2020({ strict: false, allErrors: true });
addFormats(ajv);

function checkExample(name, schema, example, place)
{
	let validate;

	seen.examples++;
	try {
		// The schema stands where it stands: its references are the document's.
		validate = ajv.compile({ ...absolute(name, schema) });
	} catch (error) {
		wrong(`${name} ${place}`, `its schema does not compile: ${error.message}`);
		return;
	}
	if (!validate(example)) {
		const first = validate.errors[0];
		wrong(`${name} ${place}`, `the example does not fit: ${first.instancePath || '/'} ${first.message}`);
	}
}

/** A copy of ${object} whose references name their document. */
function absolute(name, object)
{
	if (Array.isArray(object))
		return object.map((one) => absolute(name, one));
	if (object === null || typeof object !== 'object')
		return object;
	return Object.fromEntries(Object.entries(object).map(([key, value]) => {
		if (key !== '$ref' || typeof value !== 'string')
			return [key, absolute(name, value)];
		const [file, pointer] = value.split('#');
		return [key, `file:/${file === '' ? name : path.basename(file)}#${pointer}`];
	}));
}

/** Examples in media types, parameters, messages and schemas, wherever they stand. */
function checkExamples(name, object, place)
{
	if (object === null || typeof object !== 'object')
		return;
	const schema = object.schema ?? (object.type !== undefined || object.$ref !== undefined ? object : undefined);
	if (schema !== undefined && object.example !== undefined)
		checkExample(name, schema, object.example, place);
	if (schema !== undefined && Array.isArray(object.examples))
		object.examples.forEach((one, i) => checkExample(name, schema, one, `${place}/examples/${i}`));
	else if (object.schema !== undefined && object.examples !== undefined) {
		for (const [key, one] of Object.entries(object.examples))
			checkExample(name, schema, resolve(name, one)[0]?.value, `${place}/examples/${key}`);
	}
	for (const [key, value] of Object.entries(object)) {
		if (key !== 'example' && key !== 'examples')
			checkExamples(name, value, `${place}/${key}`);
	}
}

// ---- OpenAPI ---------------------------------------------------------------

function checkResponse(place, status, response)
{
	const name = 'openapi.yaml';
	const [object] = resolve(name, response);

	seen.responses++;
	if (!object?.description)
		wrong(`${name} ${place}`, `answer ${status} has no description`);
	for (const [type, content] of Object.entries(object?.content ?? {})) {
		if (content.schema === undefined)
			wrong(`${name} ${place}`, `answer ${status} ${type} has no schema`);
	}
	if (!object?.content && /^[45]|default/.test(status))
		wrong(`${name} ${place}`, `answer ${status} is not a problem document`);
	if (object?.content && ['204', '304'].includes(status))
		wrong(`${name} ${place}`, `answer ${status} cannot have a body`);
}

function checkParameters(place, template, item, operation)
{
	const name = 'openapi.yaml';
	const given = [...item.parameters ?? [], ...operation.parameters ?? []]
		.map((one) => resolve(name, one)[0]);
	const inPath = given.filter((one) => one?.in === 'path').map((one) => one.name);
	const wanted = [...template.matchAll(/\{([^}]+)\}/g)].map((match) => match[1]);

	for (const one of wanted) {
		if (!inPath.includes(one))
			wrong(`${name} ${place}`, `parameter {${one}} is not described`);
	}
	for (const one of inPath) {
		if (!wanted.includes(one))
			wrong(`${name} ${place}`, `there is no {${one}} in the path`);
	}
	for (const one of given) {
		if (one?.schema === undefined)
			wrong(`${name} ${place}`, `parameter ${one?.name} has no schema`);
	}
}

function checkOperation(place, template, item, operation, ids, tags)
{
	const name = 'openapi.yaml';

	seen.operations++;
	if (!operation.operationId)
		wrong(`${name} ${place}`, 'has no operationId');
	else if (ids.has(operation.operationId))
		wrong(`${name} ${place}`, `operationId ${operation.operationId} is taken`);
	ids.add(operation.operationId);
	if (!operation.summary)
		wrong(`${name} ${place}`, 'has no summary');
	if (!operation.tags?.length || operation.tags.some((tag) => !tags.includes(tag)))
		wrong(`${name} ${place}`, 'has no tag, or one that is not declared');
	const security = operation.security ?? docs[name].security ?? [];
	const statuses = Object.keys(operation.responses ?? {});
	if (security.length > 0 && !statuses.includes('401') && operation['x-status'] !== 'later')
		wrong(`${name} ${place}`, 'needs a token and does not list 401');
	if (!statuses.some((status) => /^[123]|default/.test(status)))
		wrong(`${name} ${place}`, 'lists no success');
	for (const [type, content] of Object.entries(resolve(name, operation.requestBody)[0]?.content ?? {})) {
		if (content.schema === undefined && operation['x-status'] !== 'later')
			wrong(`${name} ${place}`, `the body ${type} has no schema`);
	}
	for (const [status, response] of Object.entries(operation.responses ?? {}))
		checkResponse(place, status, response);
	checkParameters(place, template, item, operation);
}

async function checkOpenapi(doc)
{
	const name = 'openapi.yaml';
	const result = await new Validator().validate(structuredClone(doc));
	const tags = (doc.tags ?? []).map((tag) => tag.name);
	const ids = new Set();

	if (!result.valid) {
		for (const error of [result.errors].flat().slice(0, 10))
			wrong(`${name} ${error.instancePath ?? ''}`, `not OpenAPI 3.1: ${error.message ?? error}`);
	}
	for (const [template, item] of Object.entries(doc.paths ?? {})) {
		for (const method of METHODS) {
			if (item[method])
				checkOperation(`${method.toUpperCase()} ${template}`, template, item, item[method], ids, tags);
		}
	}
}

// ---- problems --------------------------------------------------------------

/** The slugs of PROBLEM_TABLE and the codes of the document are the same. */
function checkProblems(doc)
{
	const source = path.join(root, 'server/model/refusal.h');
	const text = fs.existsSync(source) ? fs.readFileSync(source, 'utf8') : '';
	const slugs = [...text.matchAll(/X\([A-Z_]+,\s*"([a-z-]+)",\s*\d{3}/g)].map((match) => match[1]);
	const codes = doc.components?.schemas?.Problem?.properties?.code?.enum ?? [];

	seen.problems = slugs.length;
	for (const slug of slugs) {
		if (!codes.includes(slug.replaceAll('-', '_')))
			wrong('openapi.yaml Problem', `does not know the code of ${slug}`);
	}
	for (const code of codes) {
		if (!slugs.includes(code.replaceAll('_', '-')))
			wrong('openapi.yaml Problem', `no refusal has the code ${code}`);
	}
}

// ---- AsyncAPI --------------------------------------------------------------

function checkMessage(name, key, message, operated)
{
	const [payload] = resolve(name, message.payload);
	const place = `/components/messages/${key}`;

	seen.messages++;
	if (!message.summary)
		wrong(`${name} ${place}`, 'has no summary');
	if (payload === undefined)
		wrong(`${name} ${place}`, 'has no payload');
	if (!operated.has(key))
		wrong(`${name} ${place}`, 'belongs to no operation');
	for (const [i, example] of (message.examples ?? []).entries())
		checkExample(name, message.payload, example.payload, `${place}/examples/${i}`);
}

function checkAsyncapi(doc)
{
	const name = 'asyncapi.yaml';
	const require = createRequire(import.meta.url);
	// The schema brings its own meta-schema along.
	const official = new Ajv({ strict: false, allErrors: true, logger: false, meta: false,
		validateSchema: false });
	addFormats(official);
	const validate = official.compile(require('@asyncapi/specs/schemas/3.0.0.json'));
	const operated = new Set();

	if (!validate(doc)) {
		for (const error of validate.errors.slice(0, 10))
			wrong(`${name} ${error.instancePath}`, `not AsyncAPI 3.0: ${error.message}`);
	}
	for (const [key, operation] of Object.entries(doc.operations ?? {})) {
		if (!operation.summary)
			wrong(`${name} /operations/${key}`, 'has no summary');
		for (const one of [...operation.messages ?? [], ...operation.reply?.messages ?? []])
			operated.add(one.$ref.split('/').at(-1));
	}
	for (const [key, message] of Object.entries(doc.components?.messages ?? {}))
		checkMessage(name, key, message, operated);
}

// ---- all of it -------------------------------------------------------------

for (const [name, doc] of Object.entries(docs)) {
	if (doc)
		ajv.addSchema({ ...absolute(name, doc), $schema: undefined, $id: `file:/${name}` });
}
for (const [name, doc] of Object.entries(docs)) {
	if (doc)
		walk(name, doc, '');
}
if (docs['openapi.yaml']) {
	await checkOpenapi(docs['openapi.yaml']);
	checkExamples('openapi.yaml', docs['openapi.yaml'], '');
	checkProblems(docs['openapi.yaml']);
	checkUnused('openapi.yaml');
}
if (docs['asyncapi.yaml']) {
	checkAsyncapi(docs['asyncapi.yaml']);
	checkUnused('asyncapi.yaml');
}
for (const [what, n] of Object.entries(seen)) {
	if (n === 0)
		wrong('check-api-docs', `saw no ${what}`);
}
process.stdout.write(`check-api-docs: ${Object.entries(seen).map(([what, n]) => `${n} ${what}`).join(', ')}, ${errors} errors\n`);
process.exitCode = errors === 0 ? 0 : 1;
