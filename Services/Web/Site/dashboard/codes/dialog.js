// The dialog that makes or changes a discount code.

import { ask, containing, find, run } from '../../shared/api.js';
import { h } from '../../shared/dom.js';
import { dialog, field } from '../../shared/elements/dialog.js';
import { toast } from '../../shared/elements/toast.js';
import { exampleMoney, moneyKeys } from '../../shared/format.js';
import { t } from '../../shared/i18n.js';
import { fieldError } from '../../shared/problems.js';
import { brands } from '../products/new-product.js';
import { readCode, writeCode } from './definition.js';

/**
 * @param code the code to change, with `productName`; or a new one, of which only the text may be known.
 * @returns the saved code; null when the dialog was dismissed.
 */
export async function editCode(code, isNew) {
  const known = await brands().catch(() => []);
  const values = writeCode(code);
  const product = code.productName ?? code.productId ?? '';
  return dialog({
    title: isNew ? t('codes.add') : t('object.edit', { name: code.discountCode }),
    isWide: true,
    content: fields(values, product, known, isNew),
    async submit(typed) {
      const wanted = definition({ ...typed, discountCode: isNew ? typed.discountCode : code.discountCode }, code);
      const text = typed.product.trim();
      wanted.productId = text && text === product ? (code.productId ?? null) : await productId(text);
      const saved = await run(isNew ? 'createDiscountCode' : 'updateDiscountCode', wanted);
      toast(t('object.saved', { name: saved.discountCode }));
      return saved;
    },
  });
}

/** Opens the editor of a stored code by its text. */
export async function openCode(text) {
  const { results } = await ask('discountCodes', { discountCode: text });
  return editCode(results[0] ?? { discountCode: text }, !results.length);
}

function definition(values, known) {
  try {
    return readCode(values, known);
  } catch (error) {
    throw error.key ? fieldError(error.field, t(error.key, { example: exampleMoney() })) : error;
  }
}

function fields(values, product, known, isNew) {
  const text = (name, more) => field({ name, label: t(`codes.${name}`), maxlength: 40, value: values[name], ...more });
  const at = (name) => text(name, { type: 'datetime-local', maxlength: undefined });
  return [
    isNew ? text('discountCode', { required: true, hint: t('codes.codeHint') }) : null,
    h(
      'div.pair',
      text('kind', {
        type: 'select',
        required: true,
        options: ['percent', 'amount'].map((kind) => [kind, t(`codes.kind.${kind}`)]),
      }),
      text('value', { required: true, inputmode: 'decimal' }),
    ),
    h('div.pair', at('from'), at('until')),
    h(
      'div.pair',
      text('usesMax', { inputmode: 'numeric', hint: t('codes.usesHint') }),
      text('usesPerCustomerMax', { inputmode: 'numeric' }),
    ),
    text('minimum', { inputmode: moneyKeys(), hint: t('codes.minimumHint') }),
    h(
      'div.pair',
      text('brand', {
        type: 'select',
        options: [['', t('codes.everyBrand')], ...known.map((brand) => [brand.objectId, brand.title])],
      }),
      text('product', { maxlength: 160, value: product, hint: t('codes.productHint') }),
    ),
  ];
}

/** The product with this name or id; null for an empty text. */
export async function productId(text) {
  if (!text) return null;
  const where = { $or: [{ objectId: text }, { name: text }, { name: containing(text) }] };
  const { results } = await find('Product', { where, keys: 'name', order: 'name', limit: 20 });
  const exact = results.filter(({ objectId, name }) => objectId === text || name === text);
  const found = exact.length ? exact : results;
  if (found.length === 1) return found[0].objectId;
  throw fieldError('product', t(found.length ? 'codes.manyProducts' : 'codes.noProduct', { name: text }));
}
