// Triggers the collection of layout garbage in Chromium. Each replaced text leaves layout objects as garbage. V8
// collects it late, after some 70 MB, and from then on the tab keeps that much memory. Code that replaces many texts
// reports them here, so that V8 collects earlier.

/** Bytes of garbage per replaced text, as measured: objects of layout and of paint. */
const TEXT = 3 << 10;
/** Bytes of garbage that are worth collecting: that takes some ten milliseconds, mostly off the main thread. */
const MUCH = 8 << 20;
/** V8 starts a collection when memory outside its heap grows by more than 64 MB; the rest is a safety margin. */
const ROOM = 96 << 20;

export class Garbage {
  #collect;
  #bytes = 0;

  /** @param collect is called each time the garbage reaches that size. */
  constructor(collect = beginToCollect) {
    this.#collect = collect;
  }

  /** Counts replaced texts. */
  add(texts) {
    this.#bytes += texts * TEXT;
    if (this.#bytes < MUCH) return;
    this.#bytes = 0;
    this.#collect();
  }
}

/**
 * Allocates and frees memory, which makes V8 start an incremental collection off the main thread. Nothing is written
 * there, so that the system provides no pages for it. Other engines, without `performance.memory`, are skipped.
 */
function beginToCollect() {
  if (!performance.memory) return;
  try {
    new ArrayBuffer(ROOM).transfer(0);
  } catch {
    // Without enough memory, or in a Chromium that cannot free it, V8 collects at its usual time.
  }
}
