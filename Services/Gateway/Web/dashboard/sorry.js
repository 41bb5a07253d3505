// What stands where a view cannot be: nothing is there, it did not work, or it is not the operator's.

import { h } from '../shared/dom.js';
import { errorText } from '../shared/elements/toast.js';
import { t } from '../shared/i18n.js';
import { areas, sees } from './areas.js';
import { entries } from './shell.js';

/**
 * @param again tries once more.
 * @param router leads home; null where there is no home yet.
 */
export function problem(error, again, router = null) {
  const isMissing = error?.isGone;
  return sorry(
    t(isMissing ? 'missing.title' : 'problem.title'),
    h('p.soft', isMissing ? t('missing.text') : errorText(error)),
    h(
      'p.actions',
      h('button', { type: 'button', onclick: () => again() }, t('action.tryAgain')),
      router ? h('a.button.quiet', { href: router.href('/') }, t('area.today')) : null,
    ),
  );
}

/** The view of another role: what is meant, what the operator's own are, and the way to them. */
export function elsewhere(router) {
  const roles = areas.mine.map((area) => t(`role.${area}`)).join(', ');
  return sorry(
    t('elsewhere.title'),
    h('p.soft', t('elsewhere.text', { roles })),
    h(
      'ul.actions',
      Object.entries(entries)
        .filter(([entry]) => sees(entry))
        .map(([entry, path]) => h('li', h('a.button', { href: router.href(path) }, t(`area.${entry}`)))),
    ),
  );
}

function sorry(title, ...content) {
  return h('section.sorry', h('h1', { tabindex: -1 }, title), content);
}
