// The pages of a list: the next one, the one that is loading, and the failure.

export class Pages {
  /** `idle`, `loading` or `failed`. */
  state = 'idle';
  isLast = false;
  /** Pages since the list began. */
  count = 0;
  error = null;
  #skip = 0;
  #request = null;
  /** Whether the last request was for the first page. */
  #isAgain = true;
  #load;
  #show;

  /**
   * @param load takes `{ skip, signal }` and promises `{ rows, isLast }`
   * @param show is called after each change, with rows and whether they replace those shown, or without
   */
  constructor(load, show) {
    this.#load = load;
    this.#show = show;
  }

  /** Loads the next page. */
  more() {
    return this.isLast || this.state === 'loading' ? null : this.#run(false);
  }

  /** Loads the first page. The rows stay until it is there. */
  again() {
    this.#request?.abort();
    return this.#run(true);
  }

  /** Rows at the server were deleted, or added when the number is negative: the next page begins elsewhere. */
  lost(rows) {
    this.#skip -= rows;
  }

  stop() {
    this.#request?.abort();
    if (this.state === 'loading') this.state = 'idle';
  }

  async #run(isAgain) {
    const request = new AbortController();
    this.#request = request;
    this.#isAgain = isAgain;
    this.state = 'loading';
    this.#show();
    try {
      const { rows, isLast } = await this.#load({ skip: isAgain ? 0 : this.#skip, signal: request.signal });
      if (this.#request !== request || request.signal.aborted) return;
      this.#skip = (isAgain ? 0 : this.#skip) + rows.length;
      this.count = isAgain ? 1 : this.count + 1;
      this.isLast = isLast;
      this.state = 'idle';
      this.#show(rows, isAgain);
    } catch (error) {
      if (this.#request !== request || request.signal.aborted) return;
      this.error = error;
      this.state = 'failed';
      this.#show();
    }
  }

  /** Repeats what failed. */
  retry() {
    return this.#run(this.#isAgain);
  }
}
