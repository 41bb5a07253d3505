// The period of a view with figures. Days are the server's, in UTC.

const DAY = 86400000;
/** The server's limit (`SeriesRange`). */
export const DAYS_MAX = 1000;

export const presets = [1, 7, 30, 90, 365];
const STANDARD = 30;

const startOfDay = (milliseconds) => Math.floor(milliseconds / DAY) * DAY;

/**
 * The period in a URL: the last `days` days, or `from` and `to`, both included.
 * @returns `{ from, to, days, preset, interval, before }`: moments, `to` and `before.to` excluded; `before` is the
 *   equally long period that ends where this one begins.
 */
export function range({ days, from, to } = {}, now = Date.now()) {
  const first = Date.parse(`${from}T00:00Z`);
  const last = Date.parse(`${to}T00:00Z`);
  if (first >= 0 && last >= first) {
    const start = Math.max(first, last - (DAYS_MAX - 1) * DAY);
    return stretch(start, last + DAY, null);
  }
  const preset = presets.includes(Number(days)) ? Number(days) : STANDARD;
  const end = startOfDay(now) + DAY;
  return stretch(end - preset * DAY, end, preset);
}

function stretch(from, to, preset) {
  const days = (to - from) / DAY;
  return {
    from: new Date(from),
    to: new Date(to),
    days,
    preset,
    interval: days <= 2 ? 'hour' : 'day',
    before: { from: new Date(Math.max(0, from - (to - from))), to: new Date(from) },
  };
}

/** The parameters of the functions for figures. */
export function parameters({ from, to }, interval) {
  const wire = (at) => ({ __type: 'Date', iso: at.toISOString() });
  return { from: wire(from), to: wire(to), ...(interval ? { interval } : {}) };
}

/** A day in the format of a URL and a date field. */
export const dayText = (at) => at.toISOString().slice(0, 10);

/** Points with the values of the earlier period, by position. */
export function beside(points, before) {
  return points.map((point, index) => (before?.[index] ? { ...point, before: before[index].value } : point));
}

export const total = (points) => points.reduce((sum, point) => sum + point.value, 0);
