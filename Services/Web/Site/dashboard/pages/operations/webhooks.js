// Functions and triggers that webhooks answer. The webhook key is never shown.

import { call } from '../../../shared/api.js';
import { h } from '../../../shared/dom.js';
import { dialog } from '../../../shared/elements/dialog.js';
import { table } from '../../../shared/elements/table.js';
import { toast } from '../../../shared/elements/toast.js';
import { t } from '../../../shared/i18n.js';
import { maskedURL } from '../../operations/settings-list.js';
import { guarded, head } from '../../operations/shared.js';
import { runs } from '../../shell/areas.js';

const triggers = [
  'beforeSave',
  'afterSave',
  'beforeDelete',
  'afterDelete',
  'beforeFind',
  'afterFind',
  'beforeLogin',
  'afterLogin',
  'afterLogout',
  'beforePasswordResetRequest',
];

export async function render({ router, signal, redraw }) {
  return guarded(router, 'webhooks', async () => {
    const [functions, classes] = await Promise.all(
      ['functions', 'triggers'].map((kind) => call('GET', `/hooks/${kind}`, { signal })),
    );
    const hooks = [...functions, ...classes];
    const after = (done) => done && redraw();
    const button = (kind, key) => h('button', { type: 'button', onclick: () => add(kind).then(after) }, t(key));
    return [
      head(
        router,
        'webhooks',
        h(
          'div.actions',
          button('functions', 'ops.addFunction'),
          runs('admins') ? button('triggers', 'ops.addTrigger') : null,
        ),
      ),
      list(hooks, after),
      h('p.hint.spaced', t('ops.hookKey')),
    ];
  });
}

const nameOf = ({ functionName, className, triggerName }) => functionName ?? `${className} ${triggerName}`;

function pathOf({ functionName, className, triggerName }) {
  const parts = functionName ? ['functions', functionName] : ['triggers', className, triggerName];
  return `/hooks/${parts.map(encodeURIComponent).join('/')}`;
}

/** Developers may register functions; triggers see passing data, so that only admins may register them. */
const isMine = (hook) => Boolean(hook.functionName) || runs('admins');

function list(hooks, after) {
  const button = (hook, kind, key, work) =>
    h(
      `button${kind}`,
      { type: 'button', 'aria-label': `${t(key)}: ${nameOf(hook)}`, onclick: () => work(hook, after).then(after) },
      t(key),
    );
  const shown = table(
    [
      { title: t('ops.name'), lead: true, cell: (hook) => h('code', nameOf(hook)) },
      { title: t('ops.kind'), cell: (hook) => t(hook.functionName ? 'ops.hook.functions' : 'ops.hook.triggers') },
      { title: t('ops.url'), cell: ({ url }) => h('span.words', maskedURL(url)) },
      { title: '', cell: (hook) => (isMine(hook) ? button(hook, '', 'action.edit', edit) : '') },
      { title: '', cell: (hook) => (isMine(hook) ? button(hook, '.danger', 'action.delete', remove) : '') },
    ],
    { label: t('ops.tab.webhooks'), id: nameOf, empty: t('ops.noHooks') },
  );
  shown.rows = hooks;
  return shown;
}

const urlField = (value) => ({ name: 'url', type: 'url', label: t('ops.url'), value, required: true, maxlength: 2000 });

function add(kind) {
  const named =
    kind === 'functions'
      ? [{ name: 'functionName', label: t('ops.name'), required: true, maxlength: 128 }]
      : [
          { name: 'className', label: t('ops.class'), required: true, maxlength: 128 },
          {
            name: 'triggerName',
            type: 'select',
            label: t('ops.trigger'),
            required: true,
            options: triggers.map((name) => [name, name]),
          },
        ];
  return dialog({
    title: t(kind === 'functions' ? 'ops.addFunction' : 'ops.addTrigger'),
    fields: [...named, urlField('')],
    async submit(values) {
      const hook = Object.fromEntries(Object.entries(values).map(([name, text]) => [name, text.trim()]));
      await call('POST', `/hooks/${kind}`, { body: hook });
      toast(t('ops.hookAdded', { name: nameOf(hook) }));
    },
  });
}

/** A URL with a password has to be typed again, because the masked form cannot be sent back. */
function edit(hook, after) {
  const isMasked = maskedURL(hook.url) !== hook.url;
  const takeBack = async () => {
    await call('PUT', pathOf(hook), { body: { url: hook.url } });
    await after(true);
  };
  return dialog({
    title: nameOf(hook),
    text: isMasked ? t('ops.urlHasSecret') : null,
    fields: [urlField(isMasked ? '' : hook.url)],
    async submit({ url }) {
      await call('PUT', pathOf(hook), { body: { url: url.trim() } });
      toast(t('ops.hookChanged', { name: nameOf(hook) }), 'good', isMasked ? null : takeBack);
    },
  });
}

function remove(hook, after) {
  const { functionName, className, triggerName, url } = hook;
  const takeBack = async () => {
    await call('POST', `/hooks/${hook.functionName ? 'functions' : 'triggers'}`, {
      body: { functionName, className, triggerName, url },
    });
    await after(true);
  };
  // A masked URL cannot be sent back.
  const isReversible = maskedURL(url) === url;
  return dialog({
    title: t('ops.deleteNamed', { name: nameOf(hook) }),
    text: t('ops.deleteHook'),
    confirm: t('action.delete'),
    isDanger: true,
    async submit() {
      await call('DELETE', pathOf(hook));
      toast(t('ops.deleted', { name: nameOf(hook) }), 'good', isReversible ? takeBack : null);
    },
  });
}
