// A class' rows, page after page by the server's cursors. Only pages near the visible rows are kept, so that a million
// rows need no more memory than a thousand. A dropped page is requested again from its start.

import { changed, reverse } from '../undo.js';

export class CursorPages {
  #load;
  #size;
  #keeps;
  #pages = new Map();
  /** The cursor at which each page starts, and the id of its first row. */
  #starts = [''];
  #firsts = [];
  #underWay = new Map();
  #length = 0;
  #isComplete = false;
  #focus = 0;
  onchange = () => {};
  onerror = () => {};

  /**
   * @param load returns `{ results, cursor }` for a cursor, `''` for the first page.
   * @param size rows per page.
   * @param keeps number of pages to keep.
   */
  constructor(load, { size = 100, keeps = 4 } = {}) {
    this.#load = load;
    this.#size = size;
    this.#keeps = keeps;
  }

  /** The number of known rows. */
  get length() {
    return this.#length;
  }

  /** Whether the last row is known. */
  get isComplete() {
    return this.#isComplete;
  }

  /** The rows in memory. */
  get kept() {
    return [...this.#pages.values()].flat().filter(Boolean);
  }

  /** The row at an index: undefined while it is not loaded, null when it was deleted. */
  at(index) {
    return this.#pages.get(Math.floor(index / this.#size))?.[index % this.#size];
  }

  /** Loads these rows, and the page after the known ones when the end is near. */
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

  /** The rows of a page that is loaded again: deleted rows leave a gap, so that no other row moves. */
  #again(page, results) {
    const next = results.findIndex((row) => row.objectId === this.#firsts[page + 1]);
    const own = next < 0 ? results : results.slice(0, next);
    return [...own, ...Array(Math.max(0, this.#size - own.length)).fill(null)];
  }

  #drop() {
    const far = [...this.#pages.keys()].sort((a, b) => Math.abs(a - this.#focus) - Math.abs(b - this.#focus));
    for (const page of far.slice(this.#keeps)) {
      // The last page is requested again without this: it may have grown.
      if (page + 1 < this.#starts.length) this.#pages.delete(page);
    }
  }

  /** Replaces the row with this id; null for a deleted one. */
  put(objectId, row) {
    for (const page of this.#pages.values()) {
      const index = page.findIndex((other) => other?.objectId === objectId);
      if (index >= 0) page[index] = row;
    }
    this.onchange();
  }

  /** Shows a change of the row with this id; its other fields stay as they are shown. */
  change(objectId, change) {
    const row = this.#kept(objectId);
    if (row) this.put(objectId, changed(row, change));
  }

  /** Takes back a change of a row, except for fields that were changed again since then. */
  takeBack(row, change) {
    const now = this.#kept(row.objectId);
    if (!now) return;
    const made = changed(row, change);
    const mine = Object.entries(change).filter(([name]) => now[name] === made[name]);
    this.put(row.objectId, changed(now, reverse(row, Object.fromEntries(mine))));
  }

  #kept(objectId) {
    return this.kept.find((row) => row.objectId === objectId);
  }
}

/** Rows within the scroll range at once: browsers limit the height of elements to some ten million pixels. */
export const SPAN = 200000;

/**
 * The first row of the scroll range for a visible row. The range moves by half its length when the row nears one of its
 * ends, so that scrolling never stops early.
 */
export function spanStart(start, row, length, span = SPAN) {
  const near = span / 8;
  if (row > start + span - near && start + span < length) return start + span / 2;
  if (row < start + near && start > 0) return Math.max(0, start - span / 2);
  return start;
}
