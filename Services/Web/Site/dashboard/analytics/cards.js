// A card for each figure: it is drawn at once and shows its data, or the error, when the response arrives. Its numbers
// can be saved as CSV.

import { writeCSV } from '../../shared/csv.js';
import { fill, h, svg } from '../../shared/dom.js';
import '../../shared/elements/chart.js';
import { errorText } from '../../shared/elements/toast.js';
import { beside, dayText, total } from '../../shared/figures/range.js';
import { day, hour, moment, number, percent } from '../../shared/format.js';
import { t } from '../../shared/i18n.js';
import { localText } from '../../shared/zone.js';
import { saveFile } from '../forms/save-file.js';

/**
 * @param view `{ stretch, compares, signal }`.
 * @param load returns `{ content, titles, rows }`; the rows are for the CSV file.
 */
export function card(view, name, title, load) {
  const place = h('div', h('div.bones', { role: 'status', 'aria-label': t('shell.loading') }));
  const header = h('header', h('h2', title));
  load()
    .then(({ content, titles, rows }) => {
      fill(place, content);
      if (rows?.length) header.append(csvButton(view, name, title, titles, rows));
    })
    .catch((error) => {
      if (!view.signal.aborted) fill(place, h('p.problem', { role: 'alert' }, errorText(error)));
    });
  return h('section.card', header, place);
}

function csvButton({ stretch }, name, title, titles, rows) {
  const last = new Date(stretch.to - 1);
  const file = `${name}-${dayText(stretch.from)}-${dayText(last)}.csv`;
  return h(
    'button.quiet',
    {
      type: 'button',
      'aria-label': t('analytics.csvOf', { title }),
      onclick: () => saveFile(file, 'text/csv', writeCSV([titles, ...rows])),
    },
    'CSV',
  );
}

const nothing = () => h('p.nothing', t('analytics.nothing'));

/** The label of a point: its hour or day, as the server counts them. */
export const labelOf = (stretch, at) => (stretch.interval === 'hour' ? hour(at) : day(at));

/**
 * A card with a line or bars.
 * @param options `{ name, title, element, text(value), short(value), exact(value), isSum, load(stretch) }`; `load`
 *   returns `{ at, value }` for each step. `exact` is the number for the CSV file. `isSum` says whether the steps may
 *   be added: active people of two days may overlap.
 */
export function trend(view, { name, title, element = 's-line-chart', text = number, short = number, ...options }) {
  const { load, exact = (value) => value, isSum = true } = options;
  return card(view, name, title, async () => {
    const { stretch, compares } = view;
    const [now, before] = await Promise.all([load(stretch), compares ? load({ ...stretch, ...stretch.before }) : null]);
    const points = beside(now, before).map((point) => ({ ...point, label: labelOf(stretch, point.at) }));
    const all = total(now);
    const summary = isSum ? t('analytics.inAll', { total: text(all) }) : '';
    const chart = document.createElement(element).show(points, { title, value: text, short, summary });
    const rows = points.map(({ at, value, before }) => [
      stretch.interval === 'hour' ? localText(moment(at)).replace('T', ' ') : dayText(moment(at)),
      exact(value),
      ...(before === undefined ? [] : [exact(before)]),
    ]);
    const titles = [t('analytics.time'), title, ...(before ? [t('analytics.before')] : [])];
    const sum = isSum ? h('p.soft.sum', h('span', summary), changed(all, before && total(before))) : null;
    return { content: [sum, chart], titles, rows };
  });
}

/** The difference to the earlier period; null when there is no comparison. */
export function changed(now, before) {
  if (before === null || before === undefined) return null;
  if (!before) return h('span', t('today.nothingBefore'));
  const share = now / before - 1;
  return h('span.note', h(`span.${share < 0 ? 'down' : 'up'}`, percent(share)), ` ${t('analytics.thanBefore')}`);
}

/**
 * Names by figure, largest first: a table with a bar in each row.
 * @param rows `{ label, value, note, link, isSum }`; a row with the sum of others has no bar.
 */
export function ranks(title, columnTitles, rows, text = number) {
  if (!rows.length) return nothing();
  const greatest = Math.max(...rows.filter(({ isSum }) => !isSum).map((row) => row.value), 1);
  return h(
    'table.lines.ranks',
    h('caption.unseen', title),
    h(
      'thead',
      h(
        'tr',
        columnTitles.map((column, index) => h(index ? 'th.end' : 'th', { scope: 'col' }, column)),
      ),
    ),
    h(
      'tbody',
      rows.map((row) =>
        h(
          'tr',
          h('th', { scope: 'row' }, row.link ?? h('span', row.label), row.isSum ? null : bar(row.value / greatest)),
          h('td.end', text(row.value)),
          columnTitles.length > 2 ? h('td.end.soft', row.note ?? '') : null,
        ),
      ),
    ),
  );
}

function bar(share) {
  return svg(
    'svg.rankBar',
    { viewBox: '0 0 100 6', preserveAspectRatio: 'none', 'aria-hidden': 'true', focusable: 'false' },
    svg('rect', { width: Math.max(0, share * 100), height: 6 }),
  );
}

/** A card with such a table. `load` returns the rows. */
export function ranking(view, name, title, columnTitles, load, text, exact = (value) => value) {
  return card(view, name, title, async () => {
    const rows = await load(view.stretch);
    return {
      content: ranks(title, columnTitles, rows, text),
      titles: columnTitles,
      rows: rows.map(({ label, value, note }) => [label, exact(value), ...(columnTitles.length > 2 ? [note] : [])]),
    };
  });
}

/** A line of fields whose values are kept in the URL. */
export function nameForm(fields, label, apply) {
  return h(
    'form.card.builder.spaced',
    {
      onsubmit: (event) => {
        event.preventDefault();
        const values = Object.fromEntries(new FormData(event.target));
        apply(Object.fromEntries(Object.entries(values).map(([name, text]) => [name, text.trim()])));
      },
    },
    fields,
    h('button.primary', { type: 'submit' }, label),
  );
}
