// The field for a promotion's discount code.

import { fill, h } from '../../shared/dom.js';
import { field } from '../../shared/elements/dialog.js';
import { t } from '../../shared/i18n.js';
import { askIfThere } from '../shell/areas.js';

/** Warns when no discount code has this text. */
export function codeField(value, signal) {
  const warning = h('p.hint', { role: 'status' });
  const look = async (text) => {
    const code = text.trim();
    const found = code ? await askIfThere('discountCodes', { discountCode: code }, signal).catch(() => null) : null;
    if (!signal.aborted) fill(warning, found && !found.results.length ? t('promotion.noSuchCode') : '');
  };
  const onchange = (event) => look(event.target.value);
  const element = field({ name: 'discountCode', label: t('promotion.code'), maxlength: 60, value, onchange });
  element.append(warning);
  if (value) look(value);
  return element;
}
