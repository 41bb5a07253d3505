// Rates and percentiles between two samples of counters that run from the start of their process.

export const SAMPLES_MAX = 120;

const sum = (counts) => counts.reduce((all, count) => all + count, 0);

/** A smaller counter shows a restart: then its whole value is new. */
function since(before, after) {
  const isAnew =
    !before ||
    before.buckets.length !== after.buckets.length ||
    after.refused < before.refused ||
    after.failed < before.failed ||
    after.buckets.some((count, index) => count < before.buckets[index]);
  if (isAnew) return after;
  return {
    buckets: after.buckets.map((count, index) => count - before.buckets[index]),
    refused: after.refused - before.refused,
    failed: after.failed - before.failed,
  };
}

/**
 * The figures between two samples.
 * @param before null for a process that was not there before: then its counters are all new.
 * @param bounds upper ends of the buckets in microseconds; the last bucket has none.
 * @returns `{ count, rate, failed, refused, p50, p99 }`: `rate` and `failed` per second; times in milliseconds, or null
 *   without requests.
 */
export function between(before, after, bounds, seconds) {
  const counted = since(before, after);
  const count = sum(counted.buckets);
  const time = Math.max(seconds, 0.001);
  return {
    count,
    rate: count / time,
    failed: counted.failed / time,
    refused: counted.refused / time,
    p50: percentile(counted.buckets, bounds, 0.5),
    p99: percentile(counted.buckets, bounds, 0.99),
  };
}

/** The upper end, in milliseconds, of the bucket in which the share is reached. */
export function percentile(buckets, bounds, share) {
  const all = sum(buckets);
  if (!all) return null;
  let seen = 0;
  const index = buckets.findIndex((count) => {
    seen += count;
    return seen >= all * share;
  });
  return bounds[Math.min(index, bounds.length - 1)] / 1000;
}

/** The figures of the last samples, by the name of the gateway or a service. */
export class History {
  #last = null;
  #series = new Map();

  /** @param answer the response of `/operations/metrics`. */
  add(answer) {
    const at = Date.parse(answer.at);
    const seconds = this.#last ? (at - this.#last.at) / 1000 : 0;
    const counters = new Map([['gateway', answer.gateway.answers]]);
    for (const [name, service] of Object.entries(answer.services)) {
      if (service.answers) counters.set(name, service.answers);
    }
    // Ignores a response that a later one has overtaken.
    if (this.#last && seconds <= 0) return;
    for (const [name, after] of this.#last ? counters : []) {
      const figures = between(this.#last.counters.get(name), after, answer.bounds, seconds);
      const points = [...(this.#series.get(name) ?? []), { at, ...figures }];
      this.#series.set(name, points.slice(-SAMPLES_MAX));
    }
    this.#last = { at, counters };
  }

  /** The points of one process, oldest first. */
  of(name) {
    return this.#series.get(name) ?? [];
  }
}
