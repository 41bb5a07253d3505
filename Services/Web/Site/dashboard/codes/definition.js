// The definition of a discount code: the form's values and the stored form, and the state of a code.

import { editableMoney, moment, parseMoney } from '../../shared/format.js';
import { fromLocal, localText } from '../../shared/zone.js';

/** The states of a code, with their styles. */
export const states = { active: 'good', planned: 'calm', exhausted: 'warn', expired: '', off: '' };

/** Why a code can be used, or why not, at a time. */
export function stateOf(code, now = Date.now()) {
  if (code.active === false) return 'off';
  if (code.until && moment(code.until).getTime() <= now) return 'expired';
  if (code.from && moment(code.from).getTime() > now) return 'planned';
  if (code.usesMax !== undefined && code.uses >= code.usesMax) return 'exhausted';
  return 'active';
}

/** The values of the form for a code; `{}` for a new one. */
export function writeCode(code) {
  return {
    discountCode: code.discountCode ?? '',
    kind: code.amountMinorUnits === undefined ? 'percent' : 'amount',
    value: code.amountMinorUnits === undefined ? String(code.percent ?? '') : editableMoney(code.amountMinorUnits),
    minimum: code.minimumMinorUnits ? editableMoney(code.minimumMinorUnits) : '',
    from: localText(moment(code.from)),
    until: localText(moment(code.until)),
    brand: code.brandId ?? '',
    usesMax: String(code.usesMax ?? ''),
    usesPerCustomerMax: String(code.usesPerCustomerMax ?? ''),
  };
}

/**
 * The parameters of `createDiscountCode` and `updateDiscountCode`, without the product. Null removes a member.
 * @param known the code whose values the form had.
 * @throws an error whose `key` names the text, and `field` the value.
 */
export function readCode(values, known = {}) {
  const code = values.discountCode.trim().toUpperCase();
  if (!/^[A-Z0-9_-]{3,40}$/.test(code)) throw problem('codes.badCode', 'discountCode');
  const isAmount = values.kind === 'amount';
  const value = isAmount ? parseMoney(values.value) : whole(values, 'value', 'codes.badPercent', 100);
  if (!(value >= 1)) throw problem(isAmount ? 'codes.badAmount' : 'codes.badPercent', 'value');
  const minimum = values.minimum.trim() ? parseMoney(values.minimum) : 0;
  if (!(minimum >= 0)) throw problem('codes.badAmount', 'minimum');
  const [from, until] = [time(values, 'from', known), time(values, 'until', known)];
  if (from && until && from >= until) throw problem('codes.badTimes', 'until');
  return {
    discountCode: code,
    percent: isAmount ? null : value,
    amountMinorUnits: isAmount ? value : null,
    minimumMinorUnits: minimum,
    from: from?.toISOString() ?? null,
    until: until?.toISOString() ?? null,
    brandId: values.brand || null,
    usesMax: whole(values, 'usesMax', 'codes.badUses', 100_000),
    usesPerCustomerMax: whole(values, 'usesPerCustomerMax', 'codes.badUses', 100_000),
  };
}

/** A whole number from 1; null for an empty text. */
function whole(values, field, key, most) {
  const text = values[field].trim();
  if (!text) return null;
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1 || value > most) throw problem(key, field);
  return value;
}

function time(values, field, known) {
  const at = values[field] ? fromLocal(values[field], moment(known[field])) : null;
  if (at && Number.isNaN(at.getTime())) throw problem('codes.badTimes', field);
  return at;
}

function problem(key, field) {
  return Object.assign(new Error(key), { key, field });
}
