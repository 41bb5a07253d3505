// Garbage of layout, which Chromium collects late. Layout takes some room for each text that becomes another, and drops
// it at once. It is collected when V8 collects, which waits until some 70 MB came together; from then on the tab keeps
// room for as much. Who changes many texts tells of them here, and V8 begins earlier.

/** Bytes that are left by a text that becomes another, as measured: objects of layout and of paint. */
const TEXT = 3 << 10;
/** Bytes of garbage that are worth collecting: some ten milliseconds, most of them beside the page. */
const MUCH = 8 << 20;
/** V8 begins to collect when more memory than this was taken outside of its heap: 64 MB, and something to be sure. */
const ROOM = 96 << 20;

export class Garbage {
  #collect;
  #bytes = 0;

  /** @param collect is called each time when there is much of it. */
  constructor(collect = beginToCollect) {
    this.#collect = collect;
  }

  /** Counts texts that became others. */
  add(texts) {
    this.#bytes += texts * TEXT;
    if (this.#bytes < MUCH) return;
    this.#bytes = 0;
    this.#collect();
  }
}

/**
 * Takes room and gives it back, at which V8 begins to collect, in small steps and beside the page. As nothing is
 * written there, the system has no memory to give for it. Other engines, which have no `performance.memory`, are left
 * alone.
 */
function beginToCollect() {
  if (!performance.memory) return;
  try {
    new ArrayBuffer(ROOM).transfer(0);
  } catch {
    // No such room, or a Chromium that cannot give it back: V8 collects when it would have anyway.
  }
}
