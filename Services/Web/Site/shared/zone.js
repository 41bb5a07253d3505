// Days and typed times in the shop's time zone, whatever the browser's zone is.

import { server } from './settings.js';

const DAY = 86400000;
const zones = new Map();

/** The time that the zone's clocks show at a moment, as milliseconds since 1970 as if they were in UTC. */
function clock(milliseconds) {
  const timeZone = server.timeZone;
  if (timeZone === 'UTC') return milliseconds;
  if (!zones.has(timeZone)) {
    const [year, other] = ['numeric', '2-digit'];
    const options = { year, month: other, day: other, hour: other, minute: other, second: other };
    zones.set(timeZone, new Intl.DateTimeFormat('en-US', { timeZone, hourCycle: 'h23', ...options }));
  }
  const parts = zones.get(timeZone).formatToParts(milliseconds);
  const [year, month, day, hour, minute, second] = ['year', 'month', 'day', 'hour', 'minute', 'second'].map((type) =>
    Number(parts.find((part) => part.type === type).value),
  );
  const fraction = ((milliseconds % 1000) + 1000) % 1000;
  return Date.UTC(year, month - 1, day, hour, minute, second, fraction);
}

const offset = (milliseconds) => clock(milliseconds) - milliseconds;

/** The moment at which the clocks show a time, the first of two; a time that they skip is moved behind the gap. */
function momentOf(time) {
  const [first, second] = [time - offset(time - DAY), time - offset(time + DAY)];
  const exact = [first, second].filter((at) => clock(at) === time);
  return exact.length ? Math.min(...exact) : first;
}

const isValid = (at) => at && !Number.isNaN(at.getTime());

/** The hour on the shop's clocks. */
export const hourOf = (at) => new Date(clock(at.getTime())).getUTCHours();

/** The day of a moment, in the format of a URL and a date field. */
export const dayText = (at) => localText(at, 10);

/** A moment in the format of a date and time field. @param length 16 ends with minutes, 23 with milliseconds. */
export function localText(at, length = 16) {
  return isValid(at) ? new Date(clock(at.getTime())).toISOString().slice(0, length) : '';
}

/** The day of a text such as `2030-05-02`, as a number; NaN for other texts. */
export const dayNumber = (text) => Date.parse(`${text}T00:00Z`) / DAY;

/** The first moment of a day. @param number of `dayNumber`. */
export const startOfDay = (number) => new Date(Number.isNaN(number) ? NaN : momentOf(number * DAY));

/**
 * The moment of a date and time field. A text with a zone keeps it.
 * @param shown the moment that the field had: unless the text was changed, it keeps what the text lacks.
 */
export function fromLocal(text, shown = null) {
  if (isValid(shown) && text === localText(shown)) return shown;
  const isLocal = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d{1,3})?)?$/.test(text);
  const time = isLocal ? Date.parse(`${text.replace(' ', 'T')}Z`) : NaN;
  return new Date(Number.isNaN(time) ? text : momentOf(time));
}
