// Which parts of the desk are an operator's. The services decide what he may do; here he is spared what he cannot.

import { APIError, ask } from '../shared/api.js';
import { batch } from '../shared/batch.js';

/**
 * The areas that lead to each entry of the menu, and to sheets that ask for more than their entry, beside the admins'.
 * What is not here is nobody's but the admins'.
 */
const needs = {
  today: ['catalog', 'orders', 'support', 'developers'],
  orders: ['orders', 'support'],
  products: ['catalog'],
  reviews: ['catalog', 'support'],
  customers: ['orders', 'support'],
  data: ['catalog', 'developers'],
  schema: ['developers'],
  crashes: ['developers', 'support'],
  analytics: ['developers'],
  operations: ['developers'],
};

let mine = [];

/** The areas of whoever is signed in, as the services said last. */
export const areas = {
  get mine() {
    return mine;
  },
  /** Asks for them. None at all: an account that is not an operator's. */
  async learn() {
    const answer = await ask('myAreas');
    mine = Array.isArray(answer.areas) ? answer.areas : [];
    return mine;
  },
  forget() {
    mine = [];
  },
};

/** Whether one of these areas is the operator's. Admins have all of them. */
export function runs(...some) {
  return mine.includes('admins') || some.some((area) => mine.includes(area));
}

/** Whether an entry of the menu, or a sheet of its own, is the operator's. */
export function sees(entry) {
  return runs(...(Object.hasOwn(needs, entry) ? needs[entry] : []));
}

/**
 * The result of a function that may be refused in the normal course of things: in a batch, since a refusal of its own
 * would be an error in the console of the browser.
 */
export async function askIfThere(name, parameters, signal) {
  const question = { method: 'POST', path: `/functions/${name}`, body: parameters };
  const [answer] = await batch([question], undefined, { isRead: true, signal });
  if (answer instanceof APIError) throw answer;
  return answer.result;
}
