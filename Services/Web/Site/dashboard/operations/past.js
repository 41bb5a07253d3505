// The suite's figures of a day or of 30 days (`GET /operations/history`), as charts take them.

/** What the operations page offers: the query, and the text of its button. */
export const periods = [
  { name: 'hours', query: { hours: 24 } },
  { name: 'days', query: { days: 30 } },
];

/** The charts, with the value of a point; `seconds` is the length of its step. */
export const charts = [
  { name: 'rate', of: ({ requests }, seconds) => requests / seconds, kind: 'decimal' },
  { name: 'p50', of: ({ p50 }) => p50, kind: 'time' },
  { name: 'p99', of: ({ p99 }) => p99, kind: 'time' },
  { name: 'past.failed', of: ({ failed }) => failed },
  { name: 'past.refused', of: ({ refused }) => refused },
  { name: 'waiting', of: ({ waiting }) => waiting },
  { name: 'outbox', of: ({ outbox }) => outbox },
  { name: 'past.outboxAge', of: ({ outboxAge }) => outboxAge, kind: 'seconds' },
  { name: 'memory', of: ({ memory }) => memory / 1e6, kind: 'megabytes' },
  { name: 'past.live', of: ({ live }) => live },
  { name: 'past.mailsFailed', of: ({ mailsFailed }) => mailsFailed },
  { name: 'past.pushesFailed', of: ({ pushesFailed }) => pushesFailed },
  { name: 'past.paymentsFailed', of: ({ paymentsFailed }) => paymentsFailed },
];

/**
 * The points of a chart, one for each step from the first to the last: a step without figures has the value 0.
 * @param answer the response of `/operations/history`.
 * @returns `{ at, value }`: `at` in milliseconds.
 */
export function pointsOf({ of }, { step, points }) {
  const length = step * 1000;
  const values = new Map(points.map((point) => [Date.parse(point.at), of(point, step) ?? 0]));
  const [first, last] = [Math.min(...values.keys()), Math.max(...values.keys())];
  if (!values.size) return [];
  return Array.from({ length: Math.round((last - first) / length) + 1 }, (_, index) => {
    const at = first + index * length;
    return { at, value: values.get(at) ?? 0 };
  });
}
