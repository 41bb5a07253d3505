// A class' rows, page after page by the server's cursors: only those around the place that is looked at are kept, so
// that a million rows cost no more memory than a thousand. A page that was dropped is asked for again from its start.

export class CursorPages {
  #load;
  #size;
  #keeps;
  #pages = new Map();
  /** The cursor at which each page starts, and the first row's id that it had. */
  #starts = [''];
  #firsts = [];
  #underWay = new Map();
  #length = 0;
  #isComplete = false;
  #focus = 0;
  onchange = () => {};
  onerror = () => {};

  /**
   * @param load answers `{ results, cursor }` for a cursor, `''` for the first page.
   * @param size rows of a page.
   * @param keeps pages that are kept.
   */
  constructor(load, { size = 100, keeps = 4 } = {}) {
    this.#load = load;
    this.#size = size;
    this.#keeps = keeps;
  }

  /** Rows that are known to be there. */
  get length() {
    return this.#length;
  }

  /** Whether the last row is known. */
  get isComplete() {
    return this.#isComplete;
  }

  /** Rows that are in memory. */
  get kept() {
    return [...this.#pages.values()].flat().filter(Boolean);
  }

  /** The row at a place: undefined while it is not here, null when it was deleted. */
  at(index) {
    return this.#pages.get(Math.floor(index / this.#size))?.[index % this.#size];
  }

  /** Sees to it that these rows are here, and the page after the known ones when its time has come. */
  want(first, last) {
    const from = Math.floor(Math.max(0, first) / this.#size);
    const to = Math.floor(Math.max(0, last) / this.#size);
    this.#focus = Math.floor((from + to) / 2);
    const waiting = [];
    for (let page = from; page <= to; page += 1) {
      if (!this.#pages.has(page) && page < this.#starts.length) waiting.push(this.#ask(page));
    }
    return Promise.all(waiting);
  }

  #ask(page) {
    if (this.#underWay.has(page)) return this.#underWay.get(page);
    const asked = this.#fetch(page)
      .catch((error) => this.onerror(error))
      .finally(() => this.#underWay.delete(page));
    this.#underWay.set(page, asked);
    return asked;
  }

  async #fetch(page) {
    const { results, cursor } = await this.#load(this.#starts[page]);
    if (page + 1 < this.#starts.length) this.#pages.set(page, this.#again(page, results));
    else this.#append(page, results, cursor);
    this.#drop();
    this.onchange();
  }

  #append(page, results, cursor) {
    this.#pages.set(page, results);
    this.#firsts[page] = results[0]?.objectId;
    this.#length = page * this.#size + results.length;
    this.#isComplete = results.length < this.#size || !cursor;
    if (!this.#isComplete) this.#starts.push(cursor);
  }

  /** The rows of a page that was here before: those that went meanwhile leave a gap, so that no other row moves. */
  #again(page, results) {
    const next = results.findIndex((row) => row.objectId === this.#firsts[page + 1]);
    const own = next < 0 ? results : results.slice(0, next);
    return [...own, ...Array(Math.max(0, this.#size - own.length)).fill(null)];
  }

  #drop() {
    const far = [...this.#pages.keys()].sort((a, b) => Math.abs(a - this.#focus) - Math.abs(b - this.#focus));
    for (const page of far.slice(this.#keeps)) {
      // The last page is asked for anew as the first time: it may have grown.
      if (page + 1 < this.#starts.length) this.#pages.delete(page);
    }
  }

  /** Puts a row in the place of the one with its id; null for one that was deleted. */
  put(objectId, row) {
    for (const page of this.#pages.values()) {
      const index = page.findIndex((other) => other?.objectId === objectId);
      if (index >= 0) page[index] = row;
    }
    this.onchange();
  }
}

/** Rows that a browser's scrolling reaches at once: elements cannot be higher than some ten million pixels. */
export const SPAN = 200000;

/**
 * Which row stands at the top of the span for a row that is looked at: it moves by half a span when an end is near, so
 * that nobody comes to one that is none.
 */
export function spanStart(start, row, length, span = SPAN) {
  const near = span / 8;
  if (row > start + span - near && start + span < length) return start + span / 2;
  if (row < start + near && start > 0) return Math.max(0, start - span / 2);
  return start;
}
