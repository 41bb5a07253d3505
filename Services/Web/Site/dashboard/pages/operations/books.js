// The last check of the books (scripts/verify): what is wrong, and what to do about it.

import { call } from '../../../shared/api.js';
import { fill, h } from '../../../shared/dom.js';
import { table } from '../../../shared/elements/table.js';
import { failure } from '../../../shared/elements/toast.js';
import { dateTime, number } from '../../../shared/format.js';
import { t } from '../../../shared/i18n.js';
import { every, guarded, head } from '../../operations/shared.js';

const PAUSE = 2000;

export async function render({ router, signal }) {
  return guarded(router, 'books', async () => {
    const [state, place] = [h('p.bar', { role: 'status' }), h('div.stack')];
    let shown = null;
    let isRunning = false;
    let gateway = null;
    /** A report that did not change is not redrawn, because one of its rows may have the focus. */
    const draw = (answer) => {
      [isRunning, gateway] = [answer.isRunning, answer.gateway];
      fill(state, verdict(answer));
      const at = answer.report?.at ?? '';
      if (at !== shown) fill(place, answer.report ? content(answer.report) : []);
      shown = at;
    };
    draw(await call('GET', '/operations/books', { signal }));
    every(PAUSE, signal, async () => {
      if (!isRunning || document.hidden) return;
      // Each gateway has its own report.
      const own = (answer) => answer.gateway === gateway && draw(answer);
      await call('GET', `/operations/books?gateway=${gateway}`, { signal }).then(own, () => {});
    });
    const start = () => call('POST', '/operations/books', { body: {} }).then(draw, failure);
    const check = h('button', { type: 'button', onclick: start }, t('ops.checkBooks'));
    return [head(router, 'books', h('div.actions', check)), state, place];
  });
}

const wrongOf = ({ checks }) => checks.filter(({ wrong }) => wrong.length);

function verdict({ isRunning, report }) {
  if (isRunning) return h('span.tag', t('ops.booksRunning'));
  if (!report) return h('span.tag', t('ops.booksNever'));
  const wrong = wrongOf(report).reduce((sum, check) => sum + check.wrong.length, 0);
  const tag = wrong
    ? h('span.tag.bad', t('ops.booksWrong', { n: wrong }))
    : report.state === 'clean'
      ? h('span.tag.good', t('ops.booksClean'))
      : h('span.tag.warn', t('ops.booksIncomplete'));
  return [tag, h('span.small', dateTime(report.at))];
}

function content(report) {
  const missing = Object.entries(report.missing).map(([service, reason]) => h('p.problem', `${service}: ${reason}`));
  return [...missing, ...wrongOf(report).map(card), all(report.checks)];
}

function card({ check, says, remedy, wrong }) {
  const rows = table(
    [
      { title: t('ops.row'), lead: true, cell: ({ row }) => h('code.words', row) },
      { title: t('ops.found'), cell: ({ found }) => found },
    ],
    { label: check, id: ({ row, found }) => `${row} ${found}`, empty: '' },
  );
  rows.rows = wrong;
  return h('section.card.spaced', h('h2', says), h('p', remedy), rows);
}

function all(checks) {
  const shown = table(
    [
      { title: t('ops.check'), lead: true, cell: ({ check }) => h('code', check) },
      { title: t('ops.summary'), cell: ({ says }) => says },
      { title: t('ops.rows'), end: true, cell: ({ rows }) => number(rows) },
      { title: t('ops.wrong'), end: true, cell: ({ wrong }) => number(wrong.length) },
    ],
    { label: t('ops.tab.books'), id: ({ check }) => check, empty: '' },
  );
  shown.rows = checks;
  return shown;
}
