// The page in place of a view that does not exist, failed, or is not allowed.

import { h } from '../../shared/dom.js';
import { errorText } from '../../shared/elements/toast.js';
import { t } from '../../shared/i18n.js';
import { areas, sees } from './areas.js';
import { entries } from './shell.js';

/**
 * @param again retries.
 * @param router leads to the start view; null when there is none yet.
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

/** The page for a view of another role: it names the operator's own areas and links to them. */
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
