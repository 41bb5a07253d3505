// Objects that are shown at several places at once: a change shows at once everywhere and is undone when the server
// refuses it.

/** Objects of one class by their ids. Pages subscribe and draw what they are told. */
export class Collection {
  #objects = new Map();
  #listeners = new Set();
  /** Changes under way by object: each later one builds on those before it. */
  #pending = new Map();

  /** Takes objects in as the server has them. Changes under way stay on top. */
  put(objects) {
    for (const object of objects) this.#objects.set(object.objectId, object);
    return objects.map((object) => this.get(object.objectId));
  }

  get(id) {
    const object = this.#objects.get(id);
    return object && Object.assign({}, object, ...(this.#pending.get(id) ?? []));
  }

  /** @returns a function that ends the subscription. */
  subscribe(listener) {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * Shows a change at once and sends it. The server's answer is taken on top; a refusal undoes the change and is
   * thrown.
   * @param send answers what the server changed beside.
   */
  async change(id, change, send) {
    const pending = this.#pending.get(id) ?? [];
    this.#pending.set(id, [...pending, change]);
    this.#tell(id);
    try {
      const answer = await send();
      this.#objects.set(id, { ...this.#objects.get(id), ...change, ...answer });
    } finally {
      this.#pending.set(
        id,
        this.#pending.get(id).filter((other) => other !== change),
      );
      this.#tell(id);
    }
    return this.get(id);
  }

  #tell(id) {
    for (const listener of this.#listeners) listener(this.get(id), id);
  }
}

const answers = new Map();

/**
 * An answer that is used again for some seconds, such as the list of brands, by whoever asks.
 * A failure is not kept.
 */
export function cached(key, load, seconds = 60) {
  const known = answers.get(key);
  if (known && known.until > Date.now()) return known.answer;
  const answer = load();
  answers.set(key, { answer, until: Date.now() + seconds * 1000 });
  answer.catch(() => answers.delete(key));
  return answer;
}

/** Forgets one answer, which something has changed. */
export function forget(key) {
  answers.delete(key);
}

/** Forgets every answer: at sign-out, so that nobody sees what another was shown. */
export function forgetAll() {
  answers.clear();
}
