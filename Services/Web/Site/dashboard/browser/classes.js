// The classes that an operator can browse: all of them, from their schemas. An operator without access to schemas sees
// the shop's own classes, and can enter any name.

import { actions, everybody } from '../../shared/browser/permissions.js';
import { fieldsOf, isClassName } from '../../shared/browser/schema.js';
import { h } from '../../shared/dom.js';
import { dialog, field } from '../../shared/elements/dialog.js';
import { toast } from '../../shared/elements/toast.js';
import { t } from '../../shared/i18n.js';
import { fieldError } from '../../shared/problems.js';
import { icon } from '../../shared/icons.js';
import { heading } from '../lists/listing.js';
import { isExplained } from './private.js';
import { make, schemas } from './schemas.js';

/** The shop's classes that operators may list; accounts, sessions and devices are private. */
const shop = ['Category', 'Order', 'OrderItem', 'Page', 'Product', 'ProductReview', 'Promotion', 'Store'];
/** Classes that no operator's session may list, or only its own objects of them. */
const isPrivate = (name) =>
  name.startsWith('_') || ['Address', 'FavoriteProduct', 'PaymentMethod'].includes(name) || !isClassName(name);

const sorted = (names) => names.sort((a, b) => a.localeCompare(b));

export async function index({ router }) {
  const all = await schemas();
  const names = sorted(all ? [...all.keys()] : [...shop]);
  const form = h(
    'form.bar',
    {
      onsubmit: (event) => {
        event.preventDefault();
        const name = new FormData(event.target).get('className').trim();
        if (isClassName(name)) router.go(`/data/${name}`);
      },
    },
    field({
      name: 'className',
      label: t('data.otherClass'),
      required: true,
      hint: all ? null : t('data.otherClassHint'),
    }),
    h('button', { type: 'submit' }, t('data.open')),
  );
  const add = h(
    'button.primary',
    { type: 'button', onclick: () => newClass(router) },
    icon('plus'),
    t('schema.newClass'),
  );
  const ours = names.filter((name) => name.startsWith('_'));
  return [
    heading(
      t('area.data'),
      t('data.note'),
      h('div.actions', h('a.button', { href: router.href('/data/console') }, t('console.title')), all ? add : null),
    ),
    card(
      t('data.classes'),
      names.filter((name) => !name.startsWith('_')),
      all,
      router,
    ),
    ours.length ? card(t('schema.builtIn'), ours, all, router) : null,
    h('section.card.spaced', form),
  ];
}

function card(title, names, all, router) {
  const link = (name) => {
    // A private class has no rows to list, but it has columns and permissions.
    const path = isPrivate(name) && all && !isExplained(name) ? `/data/${name}/schema` : `/data/${name}`;
    const n = fieldsOf(all?.get(name)).length;
    const count = all ? h('span.soft.small', ' ', t('schema.columnCount', { n })) : null;
    return h('li', h('a.button', { href: router.href(path) }, name, count));
  };
  return h('section.card.spaced', h('header', h('h2', title)), h('ul.classes', names.map(link)));
}

const operators = { 'role:admins': true };
const access = {
  operators: () => Object.fromEntries(actions.map((action) => [action, operators])),
  readers: () => ({
    ...access.operators(),
    ...Object.fromEntries(['find', 'get', 'count'].map((action) => [action, { [everybody]: true }])),
  }),
  everybody: () => Object.fromEntries(actions.map((action) => [action, { [everybody]: true }])),
};

function newClass(router) {
  return dialog({
    title: t('schema.newClass'),
    confirm: t('schema.makeClass'),
    fields: [
      { name: 'name', label: t('schema.className'), required: true, maxlength: 128, hint: t('schema.nameHint') },
      {
        name: 'access',
        type: 'select',
        label: t('schema.access'),
        required: true,
        options: Object.keys(access).map((name) => [name, t(`schema.access.${name}`)]),
        hint: t('schema.accessHint'),
      },
    ],
    async submit(values) {
      const name = values.name.trim();
      if (!isClassName(name) || name.startsWith('_')) throw fieldError('name', t('schema.badName'));
      await make(name, access[values.access]());
      toast(t('schema.classMade', { name }));
      router.go(`/data/${name}/schema`);
    },
  });
}
