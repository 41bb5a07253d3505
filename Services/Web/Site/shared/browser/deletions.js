// Deletions with an undo period: nothing is sent before the period ends. A page that is closed earlier deletes nothing.

export const UNDO_SECONDS = 10;

export class Deletions {
  #waiting = new Map();
  #clock;

  /** @param clock `setTimeout` and `clearTimeout`, for tests. */
  constructor(clock = globalThis) {
    this.#clock = clock;
  }

  /**
   * Deletes some objects after the undo period.
   * @param send deletes them at the server.
   * @param isOver is called with `'deleted'`, `'undone'` or the error.
   * @returns a function that undoes the deletion; it returns false when it was too late.
   */
  add(ids, send, isOver) {
    const key = Symbol();
    const timer = this.#clock.setTimeout(async () => {
      this.#waiting.delete(key);
      try {
        await send();
        isOver('deleted');
      } catch (error) {
        isOver(error);
      }
    }, UNDO_SECONDS * 1000);
    const undo = () => {
      if (!this.#waiting.delete(key)) return false;
      this.#clock.clearTimeout(timer);
      isOver('undone');
      return true;
    };
    this.#waiting.set(key, { ids: new Set(ids), undo });
    return undo;
  }

  /** Whether an object is about to be deleted. */
  has(id) {
    return [...this.#waiting.values()].some(({ ids }) => ids.has(id));
  }

  /** Undoes all pending deletions, at sign-out. */
  undoAll() {
    for (const { undo } of [...this.#waiting.values()]) undo();
  }
}
