// The client of the Parse REST protocol in the browser: keys, session, retries and errors in one place.

import { headers, signingIn, withSession } from './session.js';
import { server } from './settings.js';
import { limited, pause } from './waiting.js';

export { auth, headers } from './session.js';

const READ_TRIES = 3;
const PAUSE = 250;
const TIMEOUT = 20000;

/**
 * A refusal by the server, or a failed connection (`code` 100). `text` is the server's, in English; `answer` is the body
 * of a refusal.
 */
export class APIError extends Error {
  constructor(code, text, status = 0) {
    super(text);
    this.code = code;
    this.status = status;
  }
  get isGone() {
    return this.code === 101;
  }
  get isSession() {
    return this.code === 209;
  }
  get isForbidden() {
    return this.code === 119;
  }
  get isUnreachable() {
    return this.code === 100;
  }
  /** Whether the change may have been made: no answer came, or none in time (124). */
  get isUnsure() {
    return this.isUnreachable || this.code === 124;
  }
}

let changes = 0;

/** Whether a change by this page is in flight. */
export const isChanging = () => changes > 0;

/**
 * Sends a request and returns the JSON of the response.
 * @param isRead whether the request is safe to retry: then a temporary failure is retried.
 * @param key of a change that the server carries out once (`newKey`): then it is retried, too.
 * @param viewer a user's id, or `*` for a guest: the response is reduced to the part that they may see. Only for
 *   reading objects.
 */
export async function call(method, path, { body, query, signal, viewer, key, isRead = method === 'GET' } = {}) {
  const url = `${server.mount}${path}${query ? `?${new URLSearchParams(query)}` : ''}`;
  const options = {
    method,
    credentials: 'omit',
    cache: 'no-cache',
    headers: {
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      ...(viewer ? { 'X-Satchel-As-User': viewer } : {}),
      ...(key ? { 'Idempotency-Key': key } : {}),
    },
    body: body === undefined ? undefined : JSON.stringify(body),
  };
  const send = () => tried(url, options, { signal, isSafe: isRead || Boolean(key) });
  if (!isRead) changes += 1;
  try {
    if (path === '/login' || path === '/logout') return await send();
    const entering = signingIn();
    if (entering) await entering;
    return await withSession(send);
  } finally {
    if (!isRead) changes -= 1;
  }
}

async function tried(url, options, { signal, isSafe }) {
  const start = Date.now();
  for (let attempt = 1; ; attempt += 1) {
    try {
      const sent = { ...options, headers: headers(options.headers) };
      return await limited((limit) => once(url, { ...sent, signal: limit }), TIMEOUT, signal);
    } catch (error) {
      if (signal?.aborted) throw signal.reason;
      const mayPass = error.isUnreachable || [429, 502, 503, 504].includes(error.status);
      const isOver = attempt >= READ_TRIES || Date.now() - start >= TIMEOUT || navigator.onLine === false;
      if (!isSafe || !mayPass || isOver) throw error;
      await pause(error.after ?? PAUSE * 2 ** attempt * (0.5 + Math.random()), signal);
    }
  }
}

async function once(url, options) {
  let answer, json;
  try {
    answer = await fetch(url, options);
    json = await answer.json();
  } catch (error) {
    throw new APIError(100, error.message, answer?.status);
  }
  if (answer.ok) return json;
  const refusal = new APIError(json.code ?? -1, json.error ?? answer.statusText, answer.status);
  refusal.answer = json;
  const seconds = Number(answer.headers.get('Retry-After'));
  if (seconds > 0 && seconds <= 5) refusal.after = seconds * 1000;
  throw refusal;
}

/** A page of objects: `{ results, count }`. `where` is the condition; all other options are the protocol's. */
export function find(className, { where = {}, signal, viewer, ...options } = {}) {
  return call('GET', `/classes/${className}`, { query: { where: JSON.stringify(where), ...options }, signal, viewer });
}

export function get(className, id, { signal, ...options } = {}) {
  return call('GET', `/classes/${className}/${encodeURIComponent(id)}`, { query: options, signal });
}

export function create(className, object) {
  return call('POST', `/classes/${className}`, { body: object });
}

export function update(className, id, changes) {
  return call('PUT', `/classes/${className}/${encodeURIComponent(id)}`, { body: changes });
}

/**
 * The result of a function that changes something.
 * @param key as for `call`.
 */
export async function run(name, parameters = {}, key = undefined) {
  return (await call('POST', `/functions/${name}`, { body: parameters, key })).result;
}

/** An `Idempotency-Key`. Pages without TLS have no `randomUUID`. */
export function newKey() {
  const bytes = () =>
    Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0'));
  return crypto.randomUUID?.() ?? bytes().join('');
}

/** The result of a function that only reads. */
export async function ask(name, parameters = {}, signal) {
  return (await call('POST', `/functions/${name}`, { body: parameters, signal, isRead: true })).result;
}

/** A condition for a field that contains a text, ignoring case. */
export function containing(text) {
  return { $regex: text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'), $options: 'i' };
}
