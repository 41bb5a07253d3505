// The classes that an operator can look into. The list of all is the master key's; these are the shop's own, those that
// apps asked for lately, and any that somebody names.

import { ask } from '../../shared/api.js';
import { h } from '../../shared/dom.js';
import { field } from '../../shared/elements/dialog.js';
import { t } from '../../shared/i18n.js';
import { cached } from '../../shared/store.js';
import { heading } from '../listing.js';

/** What operators may list of the shop; accounts, sessions and devices are private. */
const shop = ['Category', 'Order', 'OrderItem', 'Page', 'Product', 'ProductReview', 'Promotion', 'Store'];
const NAME = /^_?[A-Za-z][A-Za-z0-9_]{0,127}$/;
/** Classes that no operator's session lists, or only its own objects of. */
const isPrivate = (name) =>
  name.startsWith('_') || ['Address', 'FavoriteProduct', 'PaymentMethod'].includes(name) || !NAME.test(name);

/** The shop's classes and those that the counts of requests name. Without counts, the shop's alone. */
export function classes(signal) {
  return cached('classes', async () => {
    const counted = await ask('analyticsRequests', { groupBy: 'class', limit: 300 }, signal).catch(() => []);
    const asked = counted.map((group) => group.class).filter((name) => !isPrivate(name));
    return [...new Set([...shop, ...asked])].sort((a, b) => a.localeCompare(b));
  });
}

export async function index({ router, signal }) {
  const names = await classes(signal);
  const form = h(
    'form.bar',
    {
      onsubmit: (event) => {
        event.preventDefault();
        const name = new FormData(event.target).get('className').trim();
        if (NAME.test(name)) router.go(`/data/${name}`);
      },
    },
    field({ name: 'className', label: t('data.otherClass'), required: true, hint: t('data.otherClassHint') }),
    h('button', { type: 'submit' }, t('data.open')),
  );
  return [
    heading(t('area.data'), t('data.note')),
    h(
      'section.card',
      h('header', h('h2', t('data.classes'))),
      h(
        'ul.classes',
        names.map((name) => h('li', h('a.button', { href: router.href(`/data/${name}`) }, name))),
      ),
    ),
    h('section.card.spaced', form),
  ];
}
