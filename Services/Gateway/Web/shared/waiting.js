// Waiting that ends: after a time, or when somebody's signal says so.

/**
 * Does some work with a signal that ends after a while, or with another one. Nothing of it stays when the work is done:
 * an `AbortSignal.timeout` of each answer would live on for all of its time, and with it the memory around it.
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

/** Resolves after a while; rejects with the reason of the signal when that ends. */
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
