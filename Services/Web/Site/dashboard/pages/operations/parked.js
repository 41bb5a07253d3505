// Work that was refused for good. An operator has each piece done again, or drops it.

import { call } from '../../../shared/api.js';
import { h } from '../../../shared/dom.js';
import { dialog } from '../../../shared/elements/dialog.js';
import { table } from '../../../shared/elements/table.js';
import { failure, toast } from '../../../shared/elements/toast.js';
import { dateTime, money, number } from '../../../shared/format.js';
import { hasText, t } from '../../../shared/i18n.js';
import { ofAll } from '../../lists/listing.js';
import { pathOf, total } from '../../operations/parked.js';
import { guarded, head } from '../../operations/shared.js';
import { sees } from '../../shell/areas.js';

export async function render({ router, signal, redraw }) {
  return guarded(router, 'parked', async () => {
    const { results, counts, unanswered } = await call('GET', '/operations/parked', { signal });
    const names = unanswered.join(', ');
    return [
      head(router, 'parked'),
      h('p.bar', ofAll('ops.parked.count', total(counts), results.length)),
      names ? h('p.problem', { role: 'alert' }, t('ops.parked.unanswered', { names })) : null,
      list(results, router, redraw),
    ];
  });
}

const word = (kind) => (hasText(`ops.parked.kind.${kind}`) ? t(`ops.parked.kind.${kind}`) : kind);

function list(items, router, redraw) {
  const button = (item, kind, key, work) =>
    h(
      `button${kind}`,
      { type: 'button', 'aria-label': `${t(key)}: ${item.about}`, onclick: () => work(item, redraw) },
      t(key),
    );
  const shown = table(
    [
      { title: t('ops.kind'), cell: ({ kind }) => h('span.tag.calm', word(kind)) },
      { title: t('ops.parked.what'), lead: true, cell: (item) => what(item, router) },
      { title: t('order.problem'), cell: ({ reason }) => h('span.words', reason) },
      { title: t('ops.parked.since'), cell: ({ since }) => h('span.when', dateTime(since)) },
      { title: t('ops.parked.attempts'), end: true, cell: ({ attempts }) => number(attempts) },
      { title: t('ops.process'), narrow: false, cell: ({ service }) => service },
      { title: '', cell: (item) => button(item, '', 'ops.parked.retry', retry) },
      { title: '', cell: (item) => button(item, '.danger', 'ops.parked.drop', drop) },
    ],
    {
      label: t('ops.tab.parked'),
      id: ({ service, kind, id }) => `${service} ${kind} ${id}`,
      empty: t('ops.parked.none'),
    },
  );
  shown.rows = items;
  return shown;
}

/** What it is about, with a link to its view if the operator may open it. */
function what(item, router) {
  const path = pathOf(item, sees);
  const text = h('span.words', item.about);
  const sum = item.amount && item.currency ? ` · ${money(item.amount, item.currency)}` : '';
  return [path ? h('a', { href: router.href(path) }, text) : text, sum];
}

const send = (verb, { service, kind, id }) =>
  call('POST', `/operations/parked/${verb}`, { body: { service, kind, id } });

async function retry(item, redraw) {
  try {
    await send('retry', item);
    toast(t('ops.parked.retried'));
    await redraw();
  } catch (error) {
    failure(error);
  }
}

async function drop(item, redraw) {
  const isDone = await dialog({
    title: t('ops.parked.dropNamed', { name: item.about }),
    text: t('ops.parked.dropHint'),
    confirm: t('ops.parked.drop'),
    isDanger: true,
    async submit() {
      await send('drop', item);
      toast(t('ops.parked.dropped'));
    },
  });
  if (isDone) await redraw();
}
