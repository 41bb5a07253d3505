// How many sessions of an app, and devices, had no crash: in hundredths of a percent, rounded down, so that a hundred
// percent is said of nothing that crashed.

export const WHOLE = 10000;
/** The axis begins here at the latest: a few crashes among thousands shall be seen, and not look like a fall. */
const FLOOR = 9900;
const columns = { sessions: 'crashedSessions', devices: 'crashedDevices', opens: 'crashedOpens' };

/** Null where there was nothing. What a server counted twice or not at all is neither below none nor above all. */
export function rate(all, crashed) {
  return all > 0 ? Math.floor((Math.min(all, Math.max(0, all - crashed)) * WHOLE) / all) : null;
}

/** The days on which there was anything, `{ at, all, crashed, value }`. @param kind `sessions`, `devices` or `opens`. */
export function rates(points, kind) {
  return points
    .map((point) => ({ at: point.at, all: point[kind], crashed: point[columns[kind]] }))
    .filter(({ all }) => all > 0)
    .map((point) => ({ ...point, value: rate(point.all, point.crashed) }));
}

/** All days or versions together; a device counts for each day. */
export function together(points, kind) {
  const all = points.reduce((sum, point) => sum + point[kind], 0);
  const crashed = points.reduce((sum, point) => sum + point[columns[kind]], 0);
  return { all, crashed, value: rate(all, crashed) };
}

/** Where the axis begins: below the least rate, by enough that a few hundredths do not fill the picture. */
export function floor(points) {
  const least = Math.min(WHOLE, ...points.map(({ value }) => value));
  return least > FLOOR ? FLOOR : Math.max(0, least - (WHOLE - FLOOR));
}

/**
 * In the place of sessions that no app tells: starts of the app that analytics counted, less the crashes of that day. An
 * app that crashed twice in one start counts twice.
 */
export function ofOpens(opens, reports) {
  const crashes = new Map(reports.map(({ at, crashes }) => [at.iso, crashes]));
  return opens.map(({ at, value }) => ({
    at,
    opens: value,
    crashedOpens: Math.min(value, crashes.get(at.iso) ?? 0),
  }));
}
