// HTTP requests, built from an operation of the document and the user's input.

/** Headers that the page may not set, or that make no sense in a trial. */
const UNSET = new Set(['X-Parse-Request-Id', 'Idempotency-Key', 'X-Parse-Client-Version', 'X-Parse-Installation-Id']);
const NAME = /\{(\w+)\}/g;

/** The parameters with a field in the form. */
export function asked(operation) {
  return operation.parameters.filter((parameter) => !UNSET.has(parameter.name));
}

/** Whether the page can try the route: request and response are JSON, and no master key is needed. */
export function canTry(operation) {
  const isJSON = (content) => !content || content.type === 'application/json';
  const success = operation.answers.find(({ status }) => Number(status) < 400);
  return operation.caller !== 'master' && isJSON(operation.body) && Boolean(success) && isJSON(success.content);
}

/**
 * The request.
 * @param values texts by parameter name; empty ones are left out. `body` is JSON, or empty for none.
 * @param own `{ url, headers }`: the server's URL with the mount, and the headers of keys and session.
 * @throws {FieldProblem} names the field that is missing or is not valid JSON.
 */
export function build(operation, values, own) {
  const text = (name) => String(values[name] ?? '').trim();
  for (const { name, required } of asked(operation))
    if (required && !text(name)) throw new FieldProblem('missing', name);
  const path = operation.path.replace(NAME, (_, name) => encodeURIComponent(text(name)));
  const query = new URLSearchParams();
  const headers = { ...own.headers };
  for (const { name, in: place } of asked(operation)) {
    if (!text(name)) continue;
    if (place === 'query') query.append(name, text(name));
    if (place === 'header') headers[name] = text(name);
  }
  const request = { method: operation.method, url: own.url + path + (query.size ? `?${query}` : ''), headers };
  if (operation.body && text('body')) {
    try {
      request.body = JSON.stringify(JSON.parse(text('body')), null, 2);
    } catch {
      throw new FieldProblem('json', 'body');
    }
    headers['Content-Type'] = 'application/json';
  } else if (operation.isBodyNeeded) throw new FieldProblem('missing', 'body');
  return request;
}

export class FieldProblem extends Error {
  /** @param kind `missing` or `json`. */
  constructor(kind, field) {
    super(`${field}: ${kind}`);
    this.kind = kind;
    this.field = field;
  }
}

/** The request as HTTP text. The session token is shortened, so that bystanders cannot use it. */
export function shown({ method, url, headers, body }) {
  const { host, pathname, search } = new URL(url);
  const lines = [`${method} ${pathname}${search} HTTP/1.1`, `Host: ${host}`];
  for (const [name, value] of Object.entries(headers)) lines.push(`${name}: ${secret(name, value)}`);
  return lines.join('\n') + (body === undefined ? '' : `\n\n${body}`);
}

function secret(name, value) {
  return name === 'X-Parse-Session-Token' ? `${value.slice(0, 6)}…` : value;
}

/** The request as a shell command, with placeholders for secrets. */
export function curl({ method, url, headers, body }) {
  const quote = (text) => `'${text.replaceAll("'", "'\\''")}'`;
  const lines = [`curl${method === 'GET' ? '' : ` -X ${method}`} ${quote(url)}`];
  for (const [name, value] of Object.entries(headers)) {
    const isSecret = name === 'X-Parse-Session-Token';
    lines.push(isSecret ? `-H "${name}: $SESSION_TOKEN"` : `-H ${quote(`${name}: ${value}`)}`);
  }
  if (body !== undefined) lines.push(`-d ${quote(body)}`);
  return lines.join(' \\\n  ');
}

/** A shell command that keeps the token of a session in a variable, for a request of a user. */
export function signIn({ url, headers }) {
  const { 'X-Parse-Session-Token': _, ...keys } = headers;
  const body = JSON.stringify({ username: 'ann@example.com', password: 'a-long-secret' });
  const all = { ...keys, 'Content-Type': 'application/json' };
  const command = curl({ method: 'POST', url: `${url}/login`, headers: all, body }).replace('curl', 'curl -s');
  return `SESSION_TOKEN=$(${command} |\n  grep -o '"sessionToken":"[^"]*"' | cut -d '"' -f 4)`;
}

/** An example request: with the document's examples, and a placeholder for each required parameter without one. */
export function sample(operation, own) {
  const values = {};
  for (const { name, required, example } of asked(operation)) if (required) values[name] = example ?? `{${name}}`;
  if (operation.body?.example !== undefined && operation.body.type === 'application/json')
    values.body = JSON.stringify(operation.body.example);
  const request = build({ ...operation, isBodyNeeded: false }, values, own);
  // A name in braces is a placeholder and easier to read undecorated.
  request.url = request.url.replace(/%7B(\w+)%7D/g, '{$1}');
  return request;
}
