// The areas of an operator. The services enforce the rights; the dashboard only hides views that the operator cannot
// use.

import { APIError, ask } from '../../shared/api.js';
import { batch } from '../../shared/batch.js';

/**
 * The areas that may open each menu entry, and each view with a stricter rule. Admins may open all; entries that are
 * not listed are for admins only.
 */
const needs = {
  today: ['catalog', 'orders', 'support', 'developers'],
  orders: ['orders', 'support'],
  products: ['catalog'],
  reviews: ['catalog', 'support'],
  customers: ['orders', 'support'],
  codes: ['orders', 'support'],
  charges: ['orders'],
  mails: ['support'],
  data: ['catalog', 'developers'],
  schema: ['developers'],
  storefront: ['developers'],
  crashes: ['developers', 'support'],
  analytics: ['developers'],
  operations: ['developers'],
  parked: ['orders', 'support', 'developers'],
  own: ['catalog', 'orders', 'support', 'developers'],
};

let mine = [];

/** The signed-in user's areas, from the last response. */
export const areas = {
  get mine() {
    return mine;
  },
  /** Requests the areas. An empty list means that the account is not an operator's. */
  async learn() {
    const answer = await ask('myAreas');
    mine = Array.isArray(answer.areas) ? answer.areas : [];
    return mine;
  },
  forget() {
    mine = [];
  },
};

/** Whether the operator has one of these areas. Admins have all of them. */
export function runs(...some) {
  return mine.includes('admins') || some.some((area) => mine.includes(area));
}

/** Whether the operator may open a menu entry or a view with its own rule. */
export function sees(entry) {
  return runs(...(Object.hasOwn(needs, entry) ? needs[entry] : []));
}

/**
 * Calls a function that may be refused in normal use. It is sent in a batch, because the browser's console would log a
 * refused single request as an error.
 */
export async function askIfThere(name, parameters, signal) {
  const question = { method: 'POST', path: `/functions/${name}`, body: parameters };
  const [answer] = await batch([question], undefined, { isRead: true, signal });
  if (answer instanceof APIError) throw answer;
  return answer.result;
}
