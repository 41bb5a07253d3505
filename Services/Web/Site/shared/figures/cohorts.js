// Retention: of the people who first came in one day or week, the share that returned in each later one.

import { moment } from '../format.js';

const DAY = 86400000;
/** The limit of a response (`CohortFigures`). */
export const COHORTS_MAX = 62;
/** Later periods that are shown. */
export const LATER = { day: 14, week: 12 };
/** The shares at which a cell gets a darker shade: the same in every view, so that views can be compared. */
const SHADES = [0, 0.05, 0.1, 0.2, 0.4];

const length = (interval) => (interval === 'day' ? DAY : 7 * DAY);

/** A period that is not longer than the limit of a response. */
export function limited({ from, to }, interval) {
  const most = (COHORTS_MAX - 2) * length(interval);
  return { from: new Date(Math.max(from.getTime(), to.getTime() - most)), to };
}

/** From 0, for no one, to 5. */
export const shade = (share) => SHADES.filter((least) => share > least).length;

/**
 * The non-empty rows of a response: `{ at, size, cells: [{ count, share, isOpen }] }`; a cell is open while its period
 * is not over, so that its count may still grow.
 */
export function shares({ interval, cohorts }, now = Date.now()) {
  return cohorts
    .filter(({ size }) => size > 0)
    .map(({ at, size, returned }) => ({
      at,
      size,
      cells: returned.map((count, index) => ({
        count,
        share: count / size,
        isOpen: moment(at).getTime() + (index + 2) * length(interval) > now,
      })),
    }));
}

/**
 * Each later period over all rows for which it is over, `{ size, count, share }`: how many of how many people returned.
 * A large cohort counts for more than a small one.
 */
export function averages(rows) {
  const longest = Math.max(0, ...rows.map(({ cells }) => cells.length));
  return Array.from({ length: longest }, (_, index) => {
    const over = rows.filter(({ cells }) => cells[index] && !cells[index].isOpen);
    const size = over.reduce((sum, row) => sum + row.size, 0);
    const count = over.reduce((sum, row) => sum + row.cells[index].count, 0);
    return { size, count, share: size ? count / size : null };
  });
}

/** Whether a row counts people as new who came before counting began: the first row does. */
export function hasOldOnes({ interval, since }, { at }) {
  // A day has 23 to 25 hours.
  const distance = since ? Math.round((moment(since) - moment(at)) / DAY) * DAY : -1;
  return distance >= 0 && distance < length(interval);
}
