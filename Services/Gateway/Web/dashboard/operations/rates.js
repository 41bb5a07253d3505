// Rates and percentiles between two looks at counters that go on from the start of their process.

export const SAMPLES_MAX = 120;

const sum = (counts) => counts.reduce((all, count) => all + count, 0);

/** A counter that is smaller than it was began anew: what it has is what was counted since. */
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
 * What happened between two looks.
 * @param before null for a process that was not there before: then its counters are all new.
 * @param bounds upper ends of the buckets in microseconds; the last bucket has none.
 * @returns `{ count, rate, failed, refused, p50, p99 }`: `rate` and `failed` by the second, times in milliseconds or
 *   null where nothing was answered.
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

/** The upper end of the bucket that has the share of all, in milliseconds. */
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

/** The last looks at the suite, as figures by the name of the gateway or a service. */
export class History {
  #last = null;
  #series = new Map();

  /** @param answer of `/operations/metrics`. */
  add(answer) {
    const at = Date.parse(answer.at);
    const seconds = this.#last ? (at - this.#last.at) / 1000 : 0;
    const counters = new Map([['gateway', answer.gateway.answers]]);
    for (const [name, service] of Object.entries(answer.services)) {
      if (service.answers) counters.set(name, service.answers);
    }
    // An answer that was overtaken by a later one says nothing new.
    if (this.#last && seconds <= 0) return;
    for (const [name, after] of this.#last ? counters : []) {
      const figures = between(this.#last.counters.get(name), after, answer.bounds, seconds);
      const points = [...(this.#series.get(name) ?? []), { at, ...figures }];
      this.#series.set(name, points.slice(-SAMPLES_MAX));
    }
    this.#last = { at, counters };
  }

  /** The points of one of them, the oldest first. */
  of(name) {
    return this.#series.get(name) ?? [];
  }
}
