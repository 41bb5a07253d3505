// The settings of each process. The server has masked the secrets.

import { call } from '../../../shared/api.js';
import { h } from '../../../shared/dom.js';
import { table } from '../../../shared/elements/table.js';
import { t } from '../../../shared/i18n.js';
import { counted, stateChips } from '../../lists/listing.js';
import { searchField } from '../../lists/search-field.js';
import { merged } from '../../operations/settings-list.js';
import { guarded, head } from '../../operations/shared.js';

const choices = ['all', 'set', 'differs'];

export async function render({ router, query, signal }) {
  return guarded(router, 'settings', async () => {
    const { processes } = await call('GET', '/operations/settings', { signal });
    const go = (change) => router.go('/operations/settings', { ...query, ...change }, { replace: true });
    const show = choices.includes(query.show) ? query.show : 'all';
    const wanted = (query.search ?? '').trim().toUpperCase();
    const rows = merged(processes).filter(
      (row) =>
        row.name.includes(wanted) &&
        (show === 'all' || (show === 'set' && !row.isDefault) || (show === 'differs' && row.differs)),
    );
    return [
      head(router, 'settings'),
      h(
        'div.bar',
        searchField(t('ops.searchSetting'), query.search, (search) => go({ search })),
        stateChips(
          t('ops.tab.settings'),
          choices.map((one) => [one, t(`ops.settings.${one}`)]),
          show,
          (next) => go({ show: next }),
        ),
        h('span.soft.small', counted('ops.settingCount', rows.length)),
      ),
      list(rows, processes.length),
      h('p.hint.spaced', t('ops.settingsFrom', { names: processes.map(({ replica }) => replica).join(', ') })),
    ];
  });
}

function list(rows, count) {
  const shown = table(
    [
      { title: t('ops.name'), lead: true, cell: ({ name }) => h('code.words', name) },
      {
        title: t('ops.value'),
        cell: ({ value, isSecret }) =>
          isSecret && value ? h('span.tag.calm', t('ops.secretSet')) : h('code.words', value || '–'),
      },
      {
        title: t('ops.origin'),
        cell: ({ isDefault, differs }) => [
          h(isDefault ? 'span.tag' : 'span.tag.good', t(isDefault ? 'ops.default' : 'ops.set')),
          differs ? h('span.tag.warn', t('ops.differs')) : null,
        ],
      },
      {
        title: t('ops.processes'),
        cell: ({ processes }) => (processes.length === count ? t('ops.everyProcess') : processes.join(', ')),
      },
    ],
    { label: t('ops.tab.settings'), id: (row) => [row.name, row.value, row.isDefault].join('\n') },
  );
  shown.rows = rows;
  return shown;
}
