// The tabs of the catalog: products, brands, stores and the shop's pages.

import { h } from '../../shared/dom.js';
import { t } from '../../shared/i18n.js';

const tabs = { products: '/products', brands: '/brands', stores: '/stores', pages: '/pages' };

export function productTabs(router, current) {
  const link = ([name, path]) =>
    h('a', { href: router.href(path), 'aria-current': name === current ? 'page' : null }, t(`tab.${name}`));
  return h('nav.tabs', { 'aria-label': t('tab.label') }, Object.entries(tabs).map(link));
}
