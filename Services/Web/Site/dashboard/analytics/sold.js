// Sales by product or brand, as the server summed them up.

import { number } from '../../shared/format.js';
import { t } from '../../shared/i18n.js';

/** Rows with names of their own. */
export const TOP = 20;

/**
 * The rows of the table: the best sellers, the sum of the others, and the total of all.
 * @param answer of `salesByProduct`.
 */
export function soldRows({ results, others, total }) {
  if (!results.length) return [];
  const row = (label, { netMinorUnits, pieces }, isSum) => ({ label, value: netMinorUnits, note: pieces, isSum });
  const rows = results.map((sum) => row(sum.name || t('order.nobody'), sum, false));
  const { count } = others;
  if (count) rows.push(row(t('analytics.others', { n: count, count: number(count) }), others, true));
  rows.push(row(t('analytics.total'), total, true));
  return rows;
}
