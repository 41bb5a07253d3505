// Who came back: of those who came first in one day or week, the shares that came again in each later one.

import { moment } from '../format.js';

const DAY = 86400000;
/** What an answer has at most (`CohortFigures`). */
export const COHORTS_MAX = 62;
/** Later periods that are shown. */
export const LATER = { day: 14, week: 12 };
/** The shares from which a cell is one shade darker: the same in every view, so that views can be compared. */
const SHADES = [0, 0.05, 0.1, 0.2, 0.4];

const length = (interval) => (interval === 'day' ? DAY : 7 * DAY);

/** The end of a stretch that is not too long for an answer. */
export function limited({ from, to }, interval) {
  const most = (COHORTS_MAX - 2) * length(interval);
  return { from: new Date(Math.max(from.getTime(), to.getTime() - most)), to };
}

/** From 0, for nobody, to 5. */
export const shade = (share) => SHADES.filter((least) => share > least).length;

/**
 * The rows of an answer that somebody is in: `{ at, size, cells: [{ count, share, isOpen }] }`; a cell is open while its
 * period is not over, so that more may come.
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
 * Each later period over all rows in which it is over: of how many people how many came, `{ size, count, share }`. A
 * large cohort counts for more than a small one.
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

/** Whether those who were there before anything was counted are taken for new in a row: in the first one of all. */
export function hasOldOnes({ interval, since }, { at }) {
  const distance = since ? moment(since).getTime() - moment(at).getTime() : -1;
  return distance >= 0 && distance < length(interval);
}
