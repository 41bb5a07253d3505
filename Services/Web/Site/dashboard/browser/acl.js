// The ACL editor: a row of two checkboxes for everyone, each role and each account.

import { fill, h } from '../../shared/dom.js';
import { dialog, field } from '../../shared/elements/dialog.js';
import { t } from '../../shared/i18n.js';
import { fieldError, problemLine } from '../../shared/problems.js';

const WHO = /^(\*|role:[A-Za-z0-9_ -]{1,128}|[A-Za-z0-9_-]{1,64})$/;

export function editACL(acl, save) {
  // An object without an ACL is public.
  const entries = new Map(Object.entries(acl ?? { '*': { read: true, write: true } }));
  const list = h('ul.rights');
  const draw = () => fill(list, [...entries].map(row));
  const added = field({ name: 'who', label: t('acl.who'), hint: t('acl.hint') });
  const add = h('button', { type: 'button', onclick: () => addEntry() }, t('acl.add'));
  const problem = problemLine();
  const first = JSON.stringify([...entries]);

  function row([who, rights]) {
    const box = (right) =>
      h(
        'label.check',
        h('input', {
          type: 'checkbox',
          checked: rights[right] === true,
          'aria-label': t(`acl.${right}By`, { who }),
          onchange: (event) => entries.set(who, { ...entries.get(who), [right]: event.target.checked }),
        }),
        h('span', t(`acl.${right}`)),
      );
    return h('li', h('span.grow.clip', who === '*' ? t('acl.everybody') : who), box('read'), box('write'));
  }
  function addEntry() {
    const input = added.querySelector('input');
    const who = input.value.trim();
    problem.clear();
    if (!WHO.test(who)) return problem.show(fieldError('who', t('data.badValue')), input.form);
    input.value = '';
    entries.set(who, { read: true, write: false });
    draw();
  }
  draw();
  return dialog({
    title: t('acl.title'),
    text: t('acl.text'),
    content: [list, added, problem.element, add],
    isChanged: () => JSON.stringify([...entries]) !== first,
    submit() {
      const kept = [...entries].map(([who, { read, write }]) => [
        who,
        { ...(read ? { read: true } : {}), ...(write ? { write: true } : {}) },
      ]);
      return save(Object.fromEntries(kept.filter(([, rights]) => Object.keys(rights).length)));
    },
  });
}
