// SPDX-License-Identifier: MIT
// docs/openapi.yaml as the reference reads it: the parts of OpenAPI 3.1 that the
// contract uses, its references resolved, and which operations reach a schema.

export interface Schema {
	$ref?: string;
	type?: string | string[];
	description?: string;
	format?: string;
	enum?: unknown[];
	const?: unknown;
	default?: unknown;
	examples?: unknown[];
	pattern?: string;
	contentMediaType?: string;
	minimum?: number;
	maximum?: number;
	minLength?: number;
	maxLength?: number;
	minItems?: number;
	maxItems?: number;
	maxProperties?: number;
	uniqueItems?: boolean;
	writeOnly?: boolean;
	required?: string[];
	properties?: Record<string, Schema>;
	additionalProperties?: boolean | Schema;
	items?: Schema;
	oneOf?: Schema[];
	anyOf?: Schema[];
	allOf?: Schema[];
}

export interface Ref {
	$ref?: string;
}

export interface Parameter extends Ref {
	name: string;
	in: 'path' | 'query' | 'header';
	required?: boolean;
	description?: string;
	schema: Schema;
	example?: unknown;
}

export interface Media {
	schema?: Schema;
	example?: unknown;
	examples?: Record<string, { value: unknown }>;
	'x-events'?: Record<string, Schema>;
}

export interface Header extends Ref {
	description: string;
	schema: Schema;
}

export interface Response extends Ref {
	description: string;
	headers?: Record<string, Header>;
	content?: Record<string, Media>;
}

export interface Operation {
	operationId: string;
	summary: string;
	description?: string;
	tags: string[];
	'x-status'?: 'later';
	security?: Record<string, unknown>[];
	parameters?: Parameter[];
	requestBody?: { required?: boolean; content: Record<string, Media> };
	responses: Record<string, Response>;
}

export interface Document {
	info: { title: string; version: string; summary: string; description: string };
	tags: { name: string; description: string }[];
	security: Record<string, unknown>[];
	paths: Record<string, Record<string, unknown> & { parameters?: Parameter[] }>;
	components: {
		securitySchemes: Record<string, { description: string }>;
		headers: Record<string, Header>;
		parameters: Record<string, Parameter>;
		responses: Record<string, Response>;
		schemas: Record<string, Schema>;
	};
}

/** One operation with its place: ${key} is the anchor of the page. */
export interface Call {
	key: string;
	method: string;
	path: string;
	operation: Operation;
	parameters: Parameter[];
	security: Record<string, unknown>[];
	/** Schemas that only this operation reaches; they are described beside it. */
	own: string[];
}

const METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch'];

/** The last part of a reference, which names a component. */
export const refName = (ref: string): string => ref.slice(ref.lastIndexOf('/') + 1);

export class Contract {
	readonly calls: Call[] = [];
	/** The schemas that more than one operation reaches, by name. */
	readonly shared: string[];
	/** The codes of problems, as their addresses spell them. */
	readonly slugs: Set<string>;

	constructor(readonly doc: Document)
	{
		for (const [path, item] of Object.entries(doc.paths))
			for (const method of METHODS)
				if (item[method])
					this.calls.push(this.callOf(path, method, item[method] as Operation, item.parameters ?? []));
		this.slugs = new Set((this.schema('Problem').properties?.code?.enum ?? [])
			.map((code) => String(code).replace(/_/g, '-')));
		this.shared = this.shareOut();
	}

	/** Returns what ${object} stands for, if it is a reference. */
	find<T extends Ref>(object: T): T
	{
		let found = object;

		while (found.$ref) {
			const parts = found.$ref.replace(/^#\//, '').split('/');
			const at = parts.reduce<unknown>((from, part) => (from as Record<string, unknown> | undefined)?.[part],
				this.doc);
			if (at === undefined)
				throw new Error(`the contract has no ${found.$ref}`);
			found = at as T;
		}
		return found;
	}

	schema(name: string): Schema
	{
		return this.find<Schema>({ $ref: `#/components/schemas/${name}` });
	}

	/** Returns the operations of ${tag} in the order of the contract. */
	of(tag: string): Call[]
	{
		return this.calls.filter(({ operation }) => operation.tags[0] === tag);
	}

	private callOf(path: string, method: string, operation: Operation, common: Parameter[]): Call
	{
		const parameters = [...common, ...operation.parameters ?? []].map((one) => this.find(one));

		return { key: operation.operationId, method: method.toUpperCase(), path, operation, parameters,
			security: operation.security ?? this.doc.security, own: [] };
	}

	/** Gives each operation the schemas that it alone reaches.  Returns the other schemas. */
	private shareOut(): string[]
	{
		const reached = new Map<string, Set<Call>>();

		for (const call of this.calls) {
			const names = new Set<string>();
			for (const one of [call.operation.requestBody, ...call.parameters, ...Object.values(call.operation.responses)])
				this.collect(one, names);
			for (const name of names)
				reached.set(name, (reached.get(name) ?? new Set()).add(call));
		}
		// Values such as Uuid have a list of their own.
		for (const [name, calls] of reached)
			if (calls.size === 1 && isObject(this.schema(name)))
				[...calls][0]!.own.push(name);
		return Object.keys(this.doc.components.schemas)
			.filter((name) => reached.get(name)?.size !== 1 || !isObject(this.schema(name)));
	}

	private collect(object: unknown, names: Set<string>): void
	{
		if (object === null || typeof object !== 'object')
			return;
		const ref = (object as Ref).$ref;
		if (ref?.startsWith('#/components/schemas/')) {
			if (names.has(refName(ref)))
				return;
			names.add(refName(ref));
		}
		for (const value of ref ? [this.find(object as Ref)] : Object.values(object))
			this.collect(value, names);
	}
}

export const isNullable = (schema: Schema): boolean => [schema.type].flat().includes('null') ||
	(schema.oneOf?.some((one) => one.type === 'null') ?? false);

/** Returns true if ${schema} has members of its own, or is a list of or a choice between such schemas. */
export const isObject = (schema: Schema): boolean => schema.properties !== undefined ||
	schema.type === 'object' || schema.type === 'array' ||
	schema.oneOf !== undefined && !isNullable(schema);

export const isProblem = (status: string): boolean => status === 'default' || /^[45]/.test(status);

/** The answers that are not problem documents.  201 comes before 200, which is then that to a repeated request. */
export const answersOf = ({ operation }: Call): [string, Response][] =>
	Object.entries(operation.responses).filter(([status]) => !isProblem(status))
		.sort(([a], [b]) => Number(b === '201') - Number(a === '201'));

export const problemsOf = ({ operation }: Call): [string, Response][] =>
	Object.entries(operation.responses).filter(([status]) => isProblem(status));
