// The decisions of the search field: when to ask for suggestions, and which one a key selects.

const PAUSE = 200;
const KEPT = 50;

/** Asks for the suggestions of the last text, a moment after the last key. */
export class Suggestions {
  #answers = new Map();
  #timer = null;
  #request = null;

  /**
   * @param ask takes a text and an AbortSignal, and promises the suggestions
   * @param show takes the suggestions
   */
  constructor(ask, show, pause = PAUSE) {
    this.ask = ask;
    this.show = show;
    this.pause = pause;
  }

  /** The text has changed. */
  typed(text) {
    this.stop();
    const wanted = text.trim();
    if (wanted.length < 2) return this.show([]);
    const known = this.#answers.get(wanted);
    if (known) return this.show(known);
    this.#timer = setTimeout(() => this.#load(wanted), this.pause);
  }

  stop() {
    clearTimeout(this.#timer);
    this.#request?.abort();
    this.#request = null;
  }

  async #load(text) {
    const request = new AbortController();
    this.#request = request;
    try {
      const found = await this.ask(text, request.signal);
      if (this.#answers.size >= KEPT) this.#answers.clear();
      this.#answers.set(text, found);
      if (this.#request === request) this.show(found);
    } catch {
      // Offline or too many requests: the field works as without suggestions.
      if (this.#request === request) this.show([]);
    }
  }
}

/** The suggestion that a key selects: -1 is the text itself, and the last one follows it upwards. */
export function selected(key, index, count) {
  if (count === 0) return -1;
  if (key === 'ArrowDown') return index + 1 >= count ? -1 : index + 1;
  if (key === 'ArrowUp') return index < 0 ? count - 1 : index - 1;
  return index;
}
