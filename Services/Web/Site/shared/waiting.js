// Waiting that ends after a time or with a signal, and which of several answers counts.

/**
 * Runs work with a signal that ends after a time, or with another signal. It frees everything when the work is done: an
 * `AbortSignal.timeout` would live on for its whole time and retain the memory around it.
 */
export async function limited(work, milliseconds, signal) {
  const limit = new AbortController();
  const end = () => limit.abort(signal.reason);
  const late = () => limit.abort(new DOMException('The server did not answer.', 'TimeoutError'));
  const timer = setTimeout(late, milliseconds);
  signal?.addEventListener('abort', end);
  if (signal?.aborted) end();
  try {
    return await work(limit.signal);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', end);
  }
}

/**
 * For work that may begin again before its answer is there.
 * @returns a function that begins a round; it returns one that says whether this round is still the last.
 */
export function rounds() {
  let last = 0;
  return () => {
    last += 1;
    const own = last;
    return () => own === last;
  };
}

/** Resolves after a time; rejects with the signal's reason when the signal ends. */
export function pause(milliseconds, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds);
    signal?.addEventListener(
      'abort',
      () => {
        clearTimeout(timer);
        reject(signal.reason);
      },
      { once: true },
    );
  });
}
