// Whether the last backup is recent enough.

const HOUR = 3600000;
export const HOURS_MAX = 24;

/**
 * @param backups of `/operations/backups`, newest first.
 * @returns `{ last, hours, isOld, isBad }`: `last` is null when there is none; `isOld` after a day, `isBad` when it was
 *   not verified.
 */
export function backupState(backups, now) {
  const last = backups[0] ?? null;
  if (!last) return { last, hours: Infinity, isOld: true, isBad: false };
  const hours = (Date.parse(now) - Date.parse(last.at)) / HOUR;
  // An invalid time counts as old.
  return { last, hours, isOld: !(hours <= HOURS_MAX), isBad: last.verified !== true };
}
