// Whether the last backup is young enough.

const HOUR = 3600000;
export const HOURS_MAX = 24;

/**
 * @param backups of `/operations/backups`, the newest first.
 * @returns `{ last, hours, isOld, isBad }`: `last` is null where there is none; `isOld` past a day, `isBad` when it lacks
 *   something.
 */
export function backupState(backups, now) {
  const last = backups[0] ?? null;
  if (!last) return { last, hours: Infinity, isOld: true, isBad: false };
  const hours = (Date.parse(now) - Date.parse(last.at)) / HOUR;
  // A time that cannot be read is no proof of a young backup.
  return { last, hours, isOld: !(hours <= HOURS_MAX), isBad: last.verified !== true };
}
