// The projects whose apps report crashes, with the DSN that a Sentry SDK needs.

import { run } from '../../shared/api.js';
import { h } from '../../shared/dom.js';
import { dialog } from '../../shared/elements/dialog.js';
import { table } from '../../shared/elements/table.js';
import { toast } from '../../shared/elements/toast.js';
import { date } from '../../shared/format.js';
import { t } from '../../shared/i18n.js';
import { icon } from '../../shared/icons.js';
import { fieldError } from '../../shared/problems.js';
import { runs } from '../shell/areas.js';
import { keysOf } from './keys.js';

export function projectList(projects, redraw) {
  const mayWrite = runs('developers');
  const after = (done) => done && redraw();
  const shown = table(
    [
      { title: t('crashes.project'), lead: true, cell: ({ name, projectId }) => name || projectId },
      { title: t('crashes.projectId'), cell: ({ projectId }) => projectId },
      { title: t('crashes.dsn'), cell: ({ dsn }) => h('code.words', dsn) },
      { title: t('product.added'), narrow: false, cell: ({ createdAt }) => date(createdAt) },
      {
        title: t('crash.state'),
        cell: ({ disabled }) => h(`span.tag${disabled ? '' : '.good'}`, t(`crashes.key.${disabled ? 'off' : 'on'}`)),
      },
      { title: '', end: true, cell: (row) => (mayWrite && !row.disabled ? disableButton(row, after) : null) },
    ],
    { label: t('crashes.sheet.projects'), id: ({ projectId, key }) => `${projectId} ${key}` },
  );
  shown.rows = keysOf(projects);
  const add = h('button.primary', { type: 'button', onclick: () => addProject().then(after) }, [
    icon('plus'),
    t('crashes.addProject'),
  ]);
  return [h('p.hint.spaced', t('crashes.projectsHint')), mayWrite ? h('div.bar', add) : null, shown];
}

function addProject() {
  return dialog({
    title: t('crashes.addProject'),
    confirm: t('crashes.makeProject'),
    fields: [{ name: 'name', label: t('crashes.projectName'), required: true, maxlength: 50 }],
    async submit({ name }) {
      if (!name.trim()) throw fieldError('name', t('crashes.noName'));
      await run('createCrashProject', { name: name.trim() });
      toast(t('crashes.madeProject', { name: name.trim() }));
    },
  });
}

function disableButton({ name, key }, after) {
  const ask = () =>
    dialog({
      title: t('crashes.disableTitle', { name }),
      text: t('crashes.disableText'),
      confirm: t('crashes.disable'),
      isDanger: true,
      async submit() {
        await run('disableCrashKey', { key });
        toast(t('crashes.disabled', { name }));
      },
    }).then(after);
  const label = `${t('crashes.disable')}: ${name}`;
  return h('button.quiet', { type: 'button', 'aria-label': label, onclick: ask }, t('crashes.disable'));
}
