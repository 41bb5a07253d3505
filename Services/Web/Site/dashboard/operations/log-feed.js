// The lines of a log as they arrive: each once, in the order of the responses, and a few thousand at most.

export const LINES_MAX = 2000;

export class LogFeed {
  /** Oldest first. */
  lines = [];
  /** The cursor of the next request; empty for the first. */
  cursor = '';
  #max;
  #last = 0;

  constructor(max = LINES_MAX) {
    this.#max = max;
  }

  /**
   * Adds a response.
   * @param asked the cursor of its request: a response to an older request was already added, or is outdated.
   * @returns `{ added, removed, isMore }`: the new lines, and how many of the oldest were dropped; null when the
   *   response is ignored.
   */
  take(asked, { entries, next, isMore, isGap }) {
    if (asked !== this.cursor) return null;
    this.cursor = next;
    const added = isGap ? [this.#line({ isGap: true })] : [];
    for (const entry of entries) added.push(this.#line(entry));
    const all = [...this.lines, ...added];
    const surplus = Math.max(0, all.length - this.#max);
    this.lines = all.slice(surplus);
    // When the response exceeds the limit, only its newest lines are shown.
    const removed = Math.min(surplus, all.length - added.length);
    return { added: added.slice(surplus - removed), removed, isMore: Boolean(isMore) };
  }

  #line(entry) {
    this.#last += 1;
    return { ...entry, id: this.#last };
  }
}
