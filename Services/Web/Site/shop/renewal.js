// When a page asks for itself again. All pages that show a product hear of its change at once: each waits for a random
// time, and runs once for many events. A failed run is repeated, because its event does not come again.

const LEAST = 100;
const MOST = 1500;
const TRIES = 6;

export class Renewal {
  #work;
  #clock;
  #random;
  #timer = null;
  #isRunning = false;
  #isAsked = false;
  #failures = 0;

  /** @param work resolves to whether it has succeeded. */
  constructor(work, { clock = globalThis, random = Math.random } = {}) {
    this.#work = work;
    this.#clock = clock;
    this.#random = random;
  }

  ask() {
    this.#isAsked = true;
    this.#failures = 0;
    this.#plan();
  }

  #plan() {
    if (this.#timer !== null || this.#isRunning || !this.#isAsked) return;
    const wait = (LEAST + this.#random() * (MOST - LEAST)) * 2 ** this.#failures;
    this.#timer = this.#clock.setTimeout(() => this.#run(), wait);
  }

  async #run() {
    this.#timer = null;
    this.#isAsked = false;
    this.#isRunning = true;
    const isDone = await this.#work();
    this.#isRunning = false;
    this.#failures = isDone ? 0 : this.#failures + 1;
    if (!isDone && this.#failures < TRIES) this.#isAsked = true;
    this.#plan();
  }
}
