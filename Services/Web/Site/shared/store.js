// Objects that are shown in several places: a change appears everywhere at once and is undone when the server refuses
// it.

/** Objects of one class by id. Pages subscribe and redraw on changes. */
export class Collection {
  #objects = new Map();
  #listeners = new Set();
  /**
   * Changes by object in the order in which they were made: each builds on the ones before it. An accepted one waits for
   * the answers to those.
   */
  #pending = new Map();

  /** Stores objects from the server. Changes in flight are applied on top. */
  put(objects) {
    for (const object of objects) this.#objects.set(object.objectId, object);
    return objects.map((object) => this.get(object.objectId));
  }

  get(id) {
    const object = this.#objects.get(id);
    return object && Object.assign({}, object, ...(this.#pending.get(id) ?? []).map(({ fields }) => fields));
  }

  /** @returns a function that ends the subscription. */
  subscribe(listener) {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * Shows a change at once and sends it. The server's response is merged; a refusal undoes the change and is thrown.
   * @param send returns further fields that the server changed.
   */
  async change(id, change, send) {
    const own = { fields: change, isAccepted: false };
    const pending = this.#pending.get(id) ?? [];
    this.#pending.set(id, pending);
    pending.push(own);
    this.#tell(id);
    try {
      own.fields = { ...change, ...(await send()) };
      own.isAccepted = true;
    } finally {
      if (!own.isAccepted) pending.splice(pending.indexOf(own), 1);
      while (pending[0]?.isAccepted) this.#objects.set(id, { ...this.#objects.get(id), ...pending.shift().fields });
      this.#tell(id);
    }
    return this.get(id);
  }

  #tell(id) {
    for (const listener of this.#listeners) listener(this.get(id), id);
  }
}

const answers = new Map();

/** A cached response, reused for some seconds by all callers, such as the list of brands. A failure is not cached. */
export function cached(key, load, seconds = 60) {
  const known = answers.get(key);
  if (known && known.until > Date.now()) return known.answer;
  const answer = load();
  answers.set(key, { answer, until: Date.now() + seconds * 1000 });
  answer.catch(() => answers.delete(key));
  return answer;
}

/** Drops one response after a change. */
export function forget(key) {
  answers.delete(key);
}

/** Drops every response, at sign-out, so that the next user sees no data of this one. */
export function forgetAll() {
  answers.clear();
}
