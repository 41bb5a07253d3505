// A promotion as customers see it: the notification on a locked phone, and the flyer that it opens.

import { fill, h } from '../../shared/dom.js';
import { t } from '../../shared/i18n.js';
import { server } from '../../shared/settings.js';

/** @returns `{ element, show({ content, code, url }) }`. */
export function phonePreview() {
  const note = h('div.note');
  const flyer = h('div.flyer');
  const element = h(
    'div.phone',
    { role: 'group', 'aria-label': t('promotion.preview') },
    h('p.where', t('promotion.onLock')),
    note,
    h('p.where', t('promotion.inApp')),
    flyer,
  );
  function show({ content, code, url }) {
    const text = content.trim() || t('promotion.empty');
    fill(
      note,
      h('span.mark', { 'aria-hidden': 'true' }),
      h('div', h('strong', server.shop), h('p', text.length > 178 ? `${text.slice(0, 177)}…` : text)),
    );
    fill(
      flyer,
      url ? h('img', { src: url, alt: t('promotion.picture') }) : null,
      h('p', text),
      code.trim() ? h('p.code', code.trim()) : null,
    );
  }
  return { element, show };
}
