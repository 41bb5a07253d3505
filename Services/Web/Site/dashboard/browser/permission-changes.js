// The changes that saving permissions would make, in words, shown before they are sent.

import { difference, everybody, signedIn, wire } from '../../shared/browser/permissions.js';
import { h } from '../../shared/dom.js';
import { dialog } from '../../shared/elements/dialog.js';
import { t } from '../../shared/i18n.js';

/** The display name of a grantee or a group. */
export function nameOf(who) {
  if (who === everybody) return t('acl.everybody');
  if (who === signedIn || who === 'authenticated') return t('permission.signedIn');
  if (who.startsWith('userField:')) return t('permission.ofField', { field: who.slice('userField:'.length) });
  return who;
}

function words({ part, who, what }) {
  if (part === 'grant') return t('permission.may', { who: nameOf(who), action: t(`permission.action.${what}`) });
  if (part === 'pointer') return t('permission.fieldMay', { field: who, action: t(`permission.action.${what}`) });
  if (part === 'user') return t(`permission.user.${what}`, { field: who });
  if (part === 'shown') return t('permission.shows', { who: nameOf(who) });
  return t('permission.hides', { field: what, who: nameOf(who) });
}

/** The list of differences; null when there are none. */
export function changeList(before, after) {
  const changes = difference(before, after);
  if (!changes.length) return null;
  return h(
    'ul.rights.differences',
    changes.map((change) =>
      h(
        'li',
        h(`span.tag.${change.isGiven ? 'good' : 'bad'}`, t(change.isGiven ? 'permission.given' : 'permission.taken')),
        h('span.grow', words(change)),
        change.isForAll ? h('span.tag.warn', t('permission.forAll')) : null,
      ),
    ),
  );
}

/**
 * Shows the differences and saves them when the operator confirms.
 * @param save sends permissions.
 * @returns the result of `save`; null when the dialog was dismissed.
 */
export function review(className, before, after, save) {
  return dialog({
    title: t('permission.review', { className }),
    content: changeList(before, after),
    isWide: true,
    confirm: t('action.save'),
    submit: () => save(wire(after)),
  });
}
