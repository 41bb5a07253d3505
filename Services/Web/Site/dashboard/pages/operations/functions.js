// Cloud functions: Satchel's with their declarations, and the shop's. The operator can run each with their own rights.

import { call } from '../../../shared/api.js';
import { h } from '../../../shared/dom.js';
import { table } from '../../../shared/elements/table.js';
import { t } from '../../../shared/i18n.js';
import { counted } from '../../lists/listing.js';
import { searchField } from '../../lists/search-field.js';
import { guarded, head } from '../../operations/shared.js';

export async function render({ router, query, signal }) {
  return guarded(router, 'functions', async () => {
    const { own, code } = await call('GET', '/operations/functions', { signal });
    const wanted = (query.search ?? '').trim().toLowerCase();
    const all = [...code.functions.map((name) => ({ name, isCode: true, caller: 'code', summary: '' })), ...own];
    const shown = all.filter(({ name, summary }) => `${name} ${summary}`.toLowerCase().includes(wanted));
    return [
      head(router, 'functions'),
      h(
        'div.bar',
        searchField(t('ops.searchFunction'), query.search, (search) =>
          router.go('/operations/functions', { ...query, search }, { replace: true }),
        ),
        h('span.soft.small', counted('ops.functionCount', shown.length)),
      ),
      codeCard(code),
      list(shown, (name) => router.href(`/operations/functions/${encodeURIComponent(name)}`)),
    ];
  });
}

function codeCard({ functions, unused = [], jobs, triggers, version }) {
  const isThere = functions.length + jobs.length + triggers.length > 0;
  const row = (title, value) => h('div', h('dt', title), h('dd', value || '–'));
  return h(
    'section.card.spaced',
    h('header', h('h2', t('ops.code')), version ? h('span.tag.calm', t('ops.version', { version })) : null),
    unused.length ? h('p.problem', { role: 'alert' }, t('ops.unusedFunctions', { names: unused.join(', ') })) : null,
    isThere
      ? h(
          'dl.facts',
          row(t('ops.tab.functions'), functions.join(', ')),
          row(t('ops.tab.jobs'), jobs.join(', ')),
          row(
            t('ops.triggers'),
            triggers.map(({ className, triggerName }) => `${className} ${triggerName}`).join(', '),
          ),
        )
      : h('p.nothing', t('ops.noCode')),
  );
}

function list(functions, address) {
  const shown = table(
    [
      { title: t('ops.name'), lead: true, cell: ({ name }) => h('code', name) },
      { title: t('ops.from'), cell: ({ isCode, service }) => (isCode ? t('ops.code') : service) },
      { title: t('ops.caller'), cell: ({ caller }) => t(`ops.caller.${caller}`) },
      { title: t('ops.summary'), narrow: false, cell: ({ summary }) => summary },
      {
        title: '',
        cell: ({ name }) =>
          h('a.button', { href: address(name), 'aria-label': t('ops.runNamed', { name }) }, t('ops.run')),
      },
    ],
    { label: t('ops.tab.functions'), id: ({ name, isCode }) => `${name} ${isCode}` },
  );
  shown.rows = functions;
  return shown;
}
