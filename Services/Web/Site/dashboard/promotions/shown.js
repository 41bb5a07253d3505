// When the storefront's home page shows a promotion, and where its page leads.

import { h } from '../../shared/dom.js';
import { field } from '../../shared/elements/dialog.js';
import { moment } from '../../shared/format.js';
import { t } from '../../shared/i18n.js';
import { fieldError } from '../../shared/problems.js';
import { server } from '../../shared/settings.js';
import { fromLocal, localText } from '../../shared/zone.js';
import { productId } from '../codes/dialog.js';
import { brands } from '../products/new-product.js';

/** The fields; the list of brands arrives later. */
export function shownFields(promotion) {
  const at = (name, hint) =>
    field({
      name,
      label: t(`promotion.${name}`),
      type: 'datetime-local',
      hint,
      value: localText(moment(promotion[name])),
    });
  const own = promotion.brand?.objectId ?? '';
  const brand = field({
    name: 'brand',
    label: t('promotion.brand'),
    type: 'select',
    value: own,
    options: [['', t('promotion.noBrand')], ...(own ? [[own, own]] : [])],
  });
  brands()
    .then((known) => {
      const options = known.map(({ objectId, title }) =>
        h('option', { value: objectId, selected: objectId === own }, title),
      );
      const select = brand.querySelector('select');
      const chosen = select.value;
      select.replaceChildren(select.options[0], ...options);
      select.value = chosen;
    })
    .catch(() => {});
  return [
    h('div.pair', at('shownFrom', t('promotion.shownHint', { zone: server.timeZone })), at('shownUntil')),
    h(
      'div.pair',
      brand,
      field({
        name: 'product',
        label: t('promotion.product'),
        maxlength: 160,
        hint: t('promotion.productHint'),
        value: promotion.product?.name ?? promotion.product?.objectId,
      }),
    ),
  ];
}

/** The members for the values of the form; null for none. */
export async function readShown(promotion, values) {
  const [from, until] = ['shownFrom', 'shownUntil'].map((name) =>
    values[name] ? fromLocal(values[name], moment(promotion[name])) : null,
  );
  if (until && !(from && from < until)) throw fieldError('shownUntil', t('promotion.badShown'));
  const text = values.product.trim();
  const { product } = promotion;
  const isSame = text && text === (product?.name ?? product?.objectId);
  const id = isSame ? product.objectId : await productId(text);
  const date = (at) => at && { __type: 'Date', iso: at.toISOString() };
  const pointer = (className, objectId) => (objectId ? { __type: 'Pointer', className, objectId } : null);
  return {
    shownFrom: date(from),
    shownUntil: date(until),
    product: pointer('Product', id),
    brand: pointer('Category', values.brand),
  };
}
