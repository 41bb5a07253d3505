// The last backups, as scripts/backup recorded them, and whether the last one is recent enough.

import { call } from '../../../shared/api.js';
import { h } from '../../../shared/dom.js';
import { table } from '../../../shared/elements/table.js';
import { ago, dateTime, number } from '../../../shared/format.js';
import { t } from '../../../shared/i18n.js';
import { backupState, HOURS_MAX } from '../../operations/backup-age.js';
import { guarded, head } from '../../operations/shared.js';

export async function render({ router, signal }) {
  return guarded(router, 'backups', async () => {
    const { backups, now } = await call('GET', '/operations/backups', { signal });
    return [head(router, 'backups'), verdict(backupState(backups, now), now), list(backups)];
  });
}

function verdict({ last, isOld, isBad }, now) {
  const warning = !last ? t('ops.noBackup') : isOld ? t('ops.oldBackup', { n: HOURS_MAX }) : null;
  return h(
    'section.card.spaced',
    h(
      'p',
      h(
        `span.tag.${isOld || isBad ? 'bad' : 'good'}`,
        last ? t('ops.lastBackup', { ago: ago(last.at, Date.parse(now)) }) : t('ops.never'),
      ),
    ),
    warning ? h('p.problem.backupWarning', { role: 'alert' }, warning) : null,
    isBad ? h('p.problem', { role: 'alert' }, t('ops.badBackup')) : null,
    h('p.hint', t('ops.backupHint')),
  );
}

function list(backups) {
  const shown = table(
    [
      { title: t('ops.moment'), lead: true, cell: ({ at }) => dateTime(at) },
      { title: t('ops.folder'), cell: ({ folder }) => h('code.words', folder) },
      {
        title: t('ops.size'),
        end: true,
        cell: ({ bytes }) => t('ops.megabytes', { n: number(Math.round(bytes / 1e5) / 10) }),
      },
      { title: t('ops.files'), end: true, cell: ({ files }) => number(files) },
      { title: t('ops.release'), cell: ({ release }) => release },
      {
        title: t('ops.verified'),
        cell: ({ verified, lostFiles }) =>
          verified
            ? h('span.tag.good', t('ops.verified'))
            : h('span.tag.bad', t('ops.lostFiles', { n: lostFiles ?? 0 })),
      },
    ],
    { label: t('ops.tab.backups'), id: ({ at, folder }) => `${at} ${folder}`, empty: t('ops.noBackup') },
  );
  shown.rows = backups;
  return shown;
}
