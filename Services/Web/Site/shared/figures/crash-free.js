// The share of crash-free sessions and devices, in hundredths of a percent and rounded down, so that 100 % means no
// crash at all.

export const WHOLE = 10000;
/** The axis begins here or lower: a few crashes among thousands should be visible without looking like a collapse. */
const FLOOR = 9900;
const columns = { sessions: 'crashedSessions', devices: 'crashedDevices', opens: 'crashedOpens' };

/** Null without any session. Numbers that a server counted twice or not at all are clamped to 0 and all. */
export function rate(all, crashed) {
  return all > 0 ? Math.floor((Math.min(all, Math.max(0, all - crashed)) * WHOLE) / all) : null;
}

/** The days with data, `{ at, all, crashed, value }`. @param kind `sessions`, `devices` or `opens`. */
export function rates(points, kind) {
  return points
    .map((point) => ({ at: point.at, all: point[kind], crashed: point[columns[kind]] }))
    .filter(({ all }) => all > 0)
    .map((point) => ({ ...point, value: rate(point.all, point.crashed) }));
}

/** The total over days or versions; a device counts once per day. */
export function together(points, kind) {
  const all = points.reduce((sum, point) => sum + point[kind], 0);
  const crashed = points.reduce((sum, point) => sum + point[columns[kind]], 0);
  return { all, crashed, value: rate(all, crashed) };
}

/** The start of the axis: far enough below the lowest rate that a few hundredths do not fill the chart. */
export function floor(points) {
  const least = Math.min(WHOLE, ...points.map(({ value }) => value));
  return least > FLOOR ? FLOOR : Math.max(0, least - (WHOLE - FLOOR));
}

/**
 * A substitute for sessions when no app reports them: app starts from analytics, less the crashes of the same day. An
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
