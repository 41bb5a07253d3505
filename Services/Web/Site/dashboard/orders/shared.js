// The common parts of the order views: states, lines and people.

import { ask } from '../../shared/api.js';
import { h } from '../../shared/dom.js';
import { moment, money } from '../../shared/format.js';
import { t } from '../../shared/i18n.js';

/** The states of a placed order, with their styles. */
export const states = { made: 'warn', shipped: 'calm', delivered: 'good', cancelled: '', refunded: 'bad' };

/** The state of an order; an imported order may only be marked as placed. */
export function stateOf(order) {
  return order.orderState ?? 'made';
}

export function stateTag(order) {
  const state = stateOf(order);
  const note =
    order.refundState === 'pending'
      ? 'order.refundPending'
      : order.paymentStatus === 'partiallyRefunded'
        ? 'order.partlyRefunded'
        : null;
  const pending = note ? ` · ${t(note)}` : '';
  return h(`span.tag${states[state] ? `.${states[state]}` : ''}`, t(`state.${state}`) + pending);
}

/** Matches placed orders, without the customers' open bags. */
export const made = { orderStatus: 1 };

/** Whether a customer has placed the order: an open bag is an `Order` too. */
export function isPlaced(order) {
  return order.orderStatus !== 0;
}

/** Matches placed orders in one state. */
export function inState(state) {
  if (state === 'made')
    return { ...made, orderState: { $nin: Object.keys(states).filter((other) => other !== 'made') } };
  return state ? { ...made, orderState: state } : made;
}

/** The parameters of `orders` for a text that an operator types. */
export function matching(text = '') {
  const search = text
    .trim()
    .replace(/^no\.?\s*(?=\d)/i, '')
    .slice(0, 60);
  return search ? { search } : {};
}

export function nameOf(order) {
  const address = order.shippingAddress ?? {};
  return [address.firstName, address.lastName].filter(Boolean).join(' ') || t('order.nobody');
}

/** The last line of an address: "Austin, TX 73301" with a state of a few capitals, otherwise "10115 Berlin". */
export function townOf({ zipcode, city, state }) {
  const isShort = city && /^[A-Z]{2,3}$/.test(state ?? '');
  const parts = isShort ? [`${city},`, state, zipcode] : [zipcode, city, state];
  return parts.filter(Boolean).join(' ');
}

export function total(order) {
  return money(order.total ?? 0, order.currency);
}

export function pieces(order) {
  return (order.items ?? []).reduce((sum, item) => sum + (item.quantity ?? 0), 0);
}

/** The amount that is not refunded yet. */
export function left(order) {
  return (order.total ?? 0) - (order.refundedTotal ?? 0);
}

/** The customer's current address. Only the function that lists orders has it: the order is found there by its date. */
export async function contactOf(order, signal) {
  const from = moment(order.orderDate);
  if (!from) return null;
  const to = new Date(from.getTime() + 1).toISOString();
  const { results } = await ask('orders', { from: order.orderDate, to, limit: 100 }, signal);
  return results.find((other) => other.objectId === order.objectId)?.contact ?? null;
}
