// Why some of the protocol's classes are not listed here, and what to use in place.

import { h } from '../../shared/dom.js';
import { t } from '../../shared/i18n.js';
import { heading } from '../lists/listing.js';
import { runs, sees } from '../shell/areas.js';
import { classTabs } from './schemas.js';

/** The classes with a view of their own or a reason. */
export const isExplained = (className) => className === '_User' || className === '_Installation';

/** The page in place of the rows: of a class that is explained, or that the server refused to list. */
export function explanation(className, router, hasSchemas) {
  const key = isExplained(className) ? className : 'master';
  const link = (path, query, text) => h('a.button', { href: router.href(path, query) }, t(text));
  return [
    h('a.back', { href: router.href('/data') }, t('data.classes')),
    heading(className, ''),
    hasSchemas ? classTabs(router, className, 'rows') : null,
    h(
      'section.card.stack',
      h('p', t(`data.why.${key}`)),
      h(
        'div.actions',
        className === '_User' && runs('support') ? link('/customers', { show: 'accounts' }, 'data.allUsers') : null,
        className === '_Installation' && sees('promotions') ? link('/promotions', {}, 'area.promotions') : null,
      ),
    ),
  ];
}
