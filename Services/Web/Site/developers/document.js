// The server's OpenAPI document in the form that pages need: operations by area, references resolved, an example for
// each schema.

import { server } from '../shared/settings.js';

const VERBS = ['get', 'post', 'put', 'delete'];
/** The depth to which an example is built from properties when the document has none. */
const DEPTH_MAX = 3;
let loading = null;

/** The document, requested once. */
export function load() {
  loading ??= fetch(`${server.mount}/openapi.json`, { credentials: 'omit' }).then(async (answer) => {
    if (!answer.ok) throw new Error(`${answer.status} ${answer.statusText}`);
    return new Reference(await answer.json());
  });
  // After a failure the next page requests it again.
  loading.catch(() => {
    loading = null;
  });
  return loading;
}

export class Reference {
  #document;

  constructor(document) {
    this.#document = document;
    this.operations = Object.entries(document.paths).flatMap(([path, item]) =>
      VERBS.filter((verb) => item[verb]).map((verb) => this.#operation(path, verb, item)),
    );
  }

  /** Areas in the document's order, each with its operations by path. */
  get areas() {
    return this.#document.tags
      .map(({ name }) => ({ name, operations: this.operations.filter((operation) => operation.area === name) }))
      .filter(({ operations }) => operations.length);
  }

  /** The operation of an id, or of a function's name; undefined when there is none. */
  find({ id, name }) {
    return this.operations.find((operation) => operation.id === (name === undefined ? id : `function.${name}`));
  }

  #operation(path, verb, item) {
    const operation = item[verb];
    const security = operation.security ?? [];
    return {
      id: operation.operationId,
      path,
      method: verb.toUpperCase(),
      area: operation.tags?.[0] ?? '',
      summary: operation.summary ?? '',
      description: operation.description ?? '',
      /** Whether the route is outside the mount, as routes of other protocols are. */
      isBeside: Boolean(item.servers),
      caller: caller(security),
      parameters: (operation.parameters ?? []).map((parameter) => this.resolve(parameter)),
      body: operation.requestBody ? this.#content(operation.requestBody) : null,
      isBodyNeeded: operation.requestBody?.required === true,
      answers: Object.entries(operation.responses ?? {})
        .map(([status, answer]) => {
          const found = this.resolve(answer);
          return { status, text: found.description ?? '', content: this.#content(found) };
        })
        .sort((one, other) => Number(one.status) - Number(other.status)),
    };
  }

  /**
   * `{ type, schema, example }`, of JSON if it is among the types, otherwise of the first type; null for no content.
   */
  #content({ content = {} }) {
    const type = 'application/json' in content ? 'application/json' : Object.keys(content)[0];
    if (!type) return null;
    const { schema, example } = content[type];
    return { type, schema: schema ?? null, example: example ?? (schema ? this.example(schema) : undefined) };
  }

  /** The target of a reference; any other value unchanged. */
  resolve(value) {
    let found = value;
    while (found?.$ref) {
      found = found.$ref
        .split('/')
        .slice(1)
        .reduce((place, name) => place?.[name], this.#document);
    }
    return found ?? {};
  }

  /** The document's example, or an example built from the properties. */
  example(schema, depth = 0) {
    const found = this.resolve(schema);
    if (found.examples?.length) return found.examples[0];
    for (const name of ['example', 'default', 'const']) if (name in found) return found[name];
    if (found.enum) return found.enum[0];
    const other = (found.anyOf ?? found.oneOf ?? found.allOf)?.[0];
    if (other) return this.example(other, depth);
    const type = Array.isArray(found.type) ? found.type[0] : found.type;
    if (depth >= DEPTH_MAX && ['array', 'object'].includes(type)) return null;
    if (type === 'array') return found.items ? [this.example(found.items, depth + 1)] : [];
    if (type !== 'object')
      return { string: '', integer: found.minimum ?? 0, number: found.minimum ?? 0, boolean: true }[type];
    const names = found.required?.length ? found.required : Object.keys(found.properties ?? {});
    return Object.fromEntries(
      names.map((name) => [name, this.example(found.properties?.[name] ?? {}, depth + 1) ?? null]),
    );
  }

  /** The properties of an object, each `{ name, type, isNeeded, text }`. */
  properties(schema) {
    const found = this.resolve(schema);
    return Object.entries(found.properties ?? {}).map(([name, property]) => ({
      name,
      type: this.type(property),
      isNeeded: found.required?.includes(name) ?? false,
      text: property.description ?? this.resolve(property).description ?? '',
    }));
  }

  /** A schema's type in a few words, with its bounds: `integer, 1 to 100`. */
  type(schema) {
    if (!schema) return '';
    if (schema.$ref) return schema.$ref.split('/').at(-1);
    const parts = schema.anyOf ?? schema.oneOf;
    if (parts) return [...new Set(parts.map((part) => this.type(part)))].join(' | ');
    if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(' | ');
    if ('const' in schema) return JSON.stringify(schema.const);
    const type = [schema.type].flat().filter(Boolean).join(' | ');
    if (type === 'array') return `[${this.type(schema.items)}]`;
    return [type, bounds(schema)].filter(Boolean).join(', ');
  }
}

function bounds({ minimum, maximum, maxLength, pattern }) {
  if (minimum !== undefined && maximum !== undefined) return `${minimum} … ${maximum}`;
  if (minimum !== undefined) return `≥ ${minimum}`;
  if (maximum !== undefined) return `≤ ${maximum}`;
  if (maxLength !== undefined) return `≤ ${maxLength}`;
  return pattern ?? '';
}

/** The required caller by the document's security schemes: `anyone`, `guest`, `user` or `master`. */
function caller(security) {
  if (!security.length) return 'anyone';
  const has = (name, way) => name in way;
  if (security.some((way) => !has('masterKey', way) && !has('basic', way) && !has('sessionToken', way))) return 'guest';
  return security.some((way) => has('sessionToken', way)) ? 'user' : 'master';
}
