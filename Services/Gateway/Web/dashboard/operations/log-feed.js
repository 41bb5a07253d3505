// The lines of a log as they come: each once, in the order of the answers, and never more than some thousand.

export const LINES_MAX = 2000;

export class LogFeed {
  /** The oldest first. */
  lines = [];
  /** Where the next question begins; empty for the first. */
  cursor = '';
  #max;
  #last = 0;

  constructor(max = LINES_MAX) {
    this.#max = max;
  }

  /**
   * Takes an answer.
   * @param asked the cursor that it answers: what answers an older question was taken already, or is not wanted.
   * @returns `{ added, removed, isMore }`: new lines, and how many of the oldest went for them; null for an answer
   *   that is not taken.
   */
  take(asked, { entries, next, isMore, isGap }) {
    if (asked !== this.cursor) return null;
    this.cursor = next;
    const added = isGap ? [this.#line({ isGap: true })] : [];
    for (const entry of entries) added.push(this.#line(entry));
    const all = [...this.lines, ...added];
    const surplus = Math.max(0, all.length - this.#max);
    this.lines = all.slice(surplus);
    // Of more than there is room for, the newest are shown.
    const removed = Math.min(surplus, all.length - added.length);
    return { added: added.slice(surplus - removed), removed, isMore: Boolean(isMore) };
  }

  #line(entry) {
    this.#last += 1;
    return { ...entry, id: this.#last };
  }
}
