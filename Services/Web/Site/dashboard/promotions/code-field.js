// The field for a promotion's discount code.

import { fill, h } from '../../shared/dom.js';
import { field } from '../../shared/elements/dialog.js';
import { t } from '../../shared/i18n.js';
import { rounds } from '../../shared/waiting.js';
import { stateOf } from '../codes/definition.js';
import { editCode } from '../codes/dialog.js';
import { askIfThere, runs, sees } from '../shell/areas.js';

/** Warns when no discount code has this text, and offers to make it; or when it cannot be used (again). */
export function codeField(value, router, signal) {
  const warning = h('p.hint', { role: 'status' });
  const make = (code) => editCode({ discountCode: code.toUpperCase() }, true).then((made) => made && look(code));
  const begin = rounds();
  const look = async (text) => {
    const isLast = begin();
    const code = text.trim();
    const found = code ? await askIfThere('discountCodes', { discountCode: code }, signal).catch(() => null) : null;
    if (!isLast() || signal.aborted) return;
    if (!found) return fill(warning);
    if (found.results.length) {
      const state = stateOf(found.results[0]);
      const isFine = ['active', 'planned'].includes(state);
      return fill(warning, isFine ? '' : t('promotion.deadCode', { state: t(`codes.state.${state}`) }));
    }
    fill(
      warning,
      t('promotion.noSuchCode'),
      runs('orders')
        ? [' ', h('button.quiet', { type: 'button', onclick: () => make(code) }, t('promotion.makeCode'))]
        : null,
    );
  };
  const onchange = (event) => look(event.target.value);
  const element = field({ name: 'discountCode', label: t('promotion.code'), maxlength: 60, value, onchange });
  element.append(
    warning,
    sees('codes') ? h('p.small', h('a', { href: router.href('/codes') }, t('promotion.allCodes'))) : '',
  );
  if (value) look(value);
  return element;
}
