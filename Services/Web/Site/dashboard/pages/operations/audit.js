// The audit log: changes and their authors, as far as the services record them.

import { h } from '../../../shared/dom.js';
import { field } from '../../../shared/elements/dialog.js';
import { table } from '../../../shared/elements/table.js';
import { dateTime } from '../../../shared/format.js';
import { t } from '../../../shared/i18n.js';
import { fromLocal } from '../../../shared/zone.js';
import { guarded, head } from '../../operations/shared.js';
import { askIfThere } from '../../shell/areas.js';

const PAGE = 100;
const filters = ['who', 'className', 'objectId'];
/** Codes of a missing function: 141 for Satchel's functions, 108 for a route. */
const absent = [108, 141];

export async function render({ router, query }) {
  const go = (change) => router.go('/operations/audit', change, { replace: true });
  return guarded(router, 'audit', async () => {
    let found;
    try {
      found = await askIfThere('auditEntries', parameters(query));
    } catch (error) {
      if (!absent.includes(error.code)) throw error;
      return [head(router, 'audit'), h('p.card.nothing', t('ops.noAudit'))];
    }
    const more = (after) => h('button', { type: 'button', onclick: () => go({ ...query, after }) }, t('pager.next'));
    const first = h('button', { type: 'button', onclick: () => go({ ...query, after: '' }) }, t('ops.newest'));
    return [
      head(router, 'audit'),
      form(query, go),
      list(found.entries ?? []),
      h('div.actions.spaced', query.after ? first : null, found.next ? more(found.next) : null),
    ];
  });
}

function parameters(query) {
  const asked = { limit: PAGE };
  for (const name of [...filters, 'after']) if (query[name]) asked[name] = query[name];
  for (const name of ['from', 'to']) {
    const at = fromLocal(query[name] ?? '');
    if (!Number.isNaN(at.getTime())) asked[name] = { __type: 'Date', iso: at.toISOString() };
  }
  return asked;
}

function form(query, go) {
  const submit = (event) => {
    event.preventDefault();
    const values = Object.fromEntries(new FormData(event.target));
    go({ ...Object.fromEntries(Object.entries(values).map(([name, text]) => [name, text.trim()])), after: '' });
  };
  return h(
    'form.card.builder.spaced',
    { onsubmit: submit },
    filters.map((name) => field({ name, label: t(`ops.audit.${name}`), value: query[name] })),
    ['from', 'to'].map((name) =>
      field({ name, type: 'datetime-local', label: t(`ops.audit.${name}`), value: query[name] }),
    ),
    h('button.primary', { type: 'submit' }, t('analytics.show')),
  );
}

function list(entries) {
  const rows = entries.map((entry, index) => ({ ...entry, id: index }));
  const json = (title, value) =>
    value === undefined || value === null
      ? null
      : h(
          'details',
          h('summary', title),
          h('pre.result', { tabindex: 0, role: 'region', 'aria-label': title }, JSON.stringify(value, null, 2)),
        );
  const shown = table(
    [
      { title: t('ops.audit.at'), cell: ({ at }) => h('span.when', dateTime(at)) },
      {
        title: t('ops.audit.who'),
        lead: true,
        cell: ({ who, userId, via }) => [who || userId || '–', via ? h('span.soft.small', ` ${via}`) : null],
      },
      { title: t('ops.audit.action'), cell: ({ action }) => action ?? '' },
      {
        title: t('ops.audit.object'),
        cell: ({ className, objectId }) => h('code.words.when', [className, objectId].filter(Boolean).join(' ')),
      },
      { title: t('bulk.before'), cell: ({ before }) => json(t('bulk.before'), before) },
      { title: t('bulk.after'), cell: ({ after }) => json(t('bulk.after'), after) },
      {
        title: t('ops.audit.request'),
        narrow: false,
        cell: ({ requestId, address }) => h('span.small.words', [requestId, address].filter(Boolean).join(' ')),
      },
    ],
    { label: t('ops.tab.audit'), id: ({ id }) => id, empty: t('ops.noEntries') },
  );
  shown.rows = rows;
  return shown;
}
