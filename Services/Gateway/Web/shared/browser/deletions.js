// Deleting that can be undone: nothing is sent before the time for it is over. A page that is closed before deletes
// nothing.

export const UNDO_SECONDS = 10;

export class Deletions {
  #waiting = new Map();
  #clock;

  /** @param clock `setTimeout` and `clearTimeout`, for tests. */
  constructor(clock = globalThis) {
    this.#clock = clock;
  }

  /**
   * Deletes some objects when the time is over.
   * @param send deletes them at the server.
   * @param isOver is told `'deleted'`, `'undone'`, or the error.
   * @returns a function that undoes it; false when it was too late.
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

  /** Whether an object is about to go. */
  has(id) {
    return [...this.#waiting.values()].some(({ ids }) => ids.has(id));
  }

  /** Keeps everything: whoever signs out does not delete any more. */
  undoAll() {
    for (const { undo } of [...this.#waiting.values()]) undo();
  }
}
