// The end of a long list: when the next page is loaded.

/** Whether the next page is loaded without a click. The end of a page stays in reach after some of them. */
export const loadsItself = (pages, most = 4) => pages < most;

/** Calls `action` when the end of a list comes in sight. */
export class EndWatch {
  #observer;

  constructor(action, rootMargin = '400px') {
    this.#observer = new IntersectionObserver(
      (entries) => {
        if (entries.some(({ isIntersecting }) => isIntersecting)) action();
      },
      { rootMargin },
    );
  }

  /** Observes the element anew, because it may be in sight still. */
  watch(element) {
    this.stop();
    if (element) this.#observer.observe(element);
  }

  stop() {
    this.#observer.disconnect();
  }
}
