// A product's small picture, or a placeholder.

import { h } from '../../shared/dom.js';
import { icon } from '../../shared/icons.js';

export function picture(product) {
  const url = product?.thumbnail?.url ?? product?.fullsizeImage?.url;
  if (!url) return h('span.thumb', { 'aria-hidden': 'true' }, icon('photo'));
  return h('img.thumb', { src: url, alt: '', width: 44, height: 44, loading: 'lazy', decoding: 'async' });
}
