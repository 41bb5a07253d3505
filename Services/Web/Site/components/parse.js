// Requests to a server that speaks Parse REST. The elements of a page share their session.

/** Tokens of sessions by the server's URL, as long as the page is open. */
const sessions = new Map();

/** Has an event `session` when someone has signed in or out. */
export const changes = new EventTarget();

export class Refused extends Error {
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

const OFFLINE = 100;
const SESSION_ENDED = 209;

export class Client {
  #base;
  #applicationId;
  #key;

  /**
   * @param base the server's URL with its mount, `https://shop.example/parse`
   * @param key the key of pages, when the server wants one
   */
  constructor({ base, applicationId, key = '' }) {
    this.#base = base.replace(/\/+$/, '');
    this.#applicationId = applicationId;
    this.#key = key;
  }

  get token() {
    return sessions.get(this.#base) ?? null;
  }

  /** @param token null after the log-out */
  begin(token) {
    if (token) sessions.set(this.#base, token);
    else sessions.delete(this.#base);
    changes.dispatchEvent(new Event('session'));
  }

  async call(method, path, { query = {}, body, signal } = {}) {
    const headers = { 'X-Parse-Application-Id': this.#applicationId };
    if (this.#key) headers['X-Parse-Javascript-Key'] = this.#key;
    const { token } = this;
    if (token) headers['X-Parse-Session-Token'] = token;
    if (body) headers['Content-Type'] = 'application/json';
    const values = Object.entries(query).filter(([, value]) => value !== '' && value !== null && value !== undefined);
    const search = new URLSearchParams(values).toString();
    let response;
    try {
      response = await fetch(`${this.#base}${path}${search ? `?${search}` : ''}`, {
        method,
        headers,
        body: body && JSON.stringify(body),
        signal,
        credentials: 'omit',
      });
    } catch (error) {
      if (error.name === 'AbortError') throw error;
      throw new Refused(OFFLINE, error.message);
    }
    const reply = await response.json().catch(() => ({}));
    if (response.ok) return reply;
    if (reply.code === SESSION_ENDED && token && token === this.token) this.begin(null);
    throw new Refused(reply.code ?? 1, reply.error ?? `${response.status}`);
  }

  async find(className, { where, order, include, keys, limit, skip, signal }) {
    const query = { where, order, include, keys, limit, skip: skip || '' };
    return (await this.call('GET', `/classes/${encodeURIComponent(className)}`, { query, signal })).results;
  }

  async logIn(username, password, code) {
    const body = { username, password };
    if (code) body.authData = { mfa: { token: code.replace(/\s/g, '') } };
    return this.#entered(await this.call('POST', '/login', { body }));
  }

  async signUp(fields) {
    return this.#entered(await this.call('POST', '/users', { body: fields }));
  }

  #entered({ sessionToken, ...user }) {
    this.begin(sessionToken);
    return { user, sessionToken };
  }
}
