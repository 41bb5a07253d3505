// The period of a view with figures, in days of the shop's time zone, as on the server.

import { dayNumber, dayText, startOfDay } from '../zone.js';

export { dayText };
/** The server's limit (`SeriesRange`). */
export const DAYS_MAX = 1000;

export const presets = [1, 7, 30, 90, 365];
const STANDARD = 30;

/**
 * The period in a URL: the last `days` days, or `from` and `to`, both included.
 * @returns `{ from, to, days, preset, interval, before }`: moments, `to` and `before.to` excluded; `before` is the
 *   period of as many days that ends where this one begins.
 */
export function range({ days, from, to } = {}, now = Date.now()) {
  const [first, last] = [dayNumber(from), dayNumber(to)];
  if (first >= 0 && last >= first) return stretch(Math.max(first, last - DAYS_MAX + 1), last + 1, null);
  const preset = presets.includes(Number(days)) ? Number(days) : STANDARD;
  const end = dayNumber(dayText(new Date(now))) + 1;
  return stretch(end - preset, end, preset);
}

function stretch(first, end, preset) {
  const days = end - first;
  // Figures begin in 1970.
  const start = (day) => new Date(Math.max(0, startOfDay(day).getTime()));
  return {
    from: start(first),
    to: start(end),
    days,
    preset,
    interval: days <= 2 ? 'hour' : 'day',
    before: { from: start(first - days), to: start(first) },
  };
}

/** The parameters of the functions for figures. */
export function parameters({ from, to }, interval) {
  const wire = (at) => ({ __type: 'Date', iso: at.toISOString() });
  return { from: wire(from), to: wire(to), ...(interval ? { interval } : {}) };
}

/** Points with the values of the earlier period, by position. */
export function beside(points, before) {
  return points.map((point, index) => (before?.[index] ? { ...point, before: before[index].value } : point));
}

export const total = (points) => points.reduce((sum, point) => sum + point.value, 0);
