// Which parts of the desk are an operator's. The services decide what he may do; here the menu is spared what he cannot.

import { APIError } from '../shared/api.js';
import { batch } from '../shared/batch.js';

/** The areas that lead to each entry of the menu beside the admins'; those that are not here are everybody's. */
const needs = {
  orders: ['orders', 'support'],
  products: ['catalog'],
  reviews: ['catalog', 'support'],
  customers: ['orders', 'support'],
  promotions: [],
  data: ['catalog', 'developers'],
  crashes: ['developers', 'support'],
  analytics: ['developers'],
  operations: ['developers'],
};

/** @param mine what `myAreas` answers; null where nobody says. */
export function isMine(entry, mine) {
  if (!mine || mine.includes('admins') || !Object.hasOwn(needs, entry)) return true;
  return needs[entry].some((area) => mine.includes(area));
}

/**
 * The result of a function that may not be there: in a batch, since a refusal of its own would be an error in the
 * console of the browser.
 */
export async function askIfThere(name, parameters) {
  const [answer] = await batch([{ method: 'POST', path: `/functions/${name}`, body: parameters }]);
  if (answer instanceof APIError) throw answer;
  return answer.result;
}

/** The operator's areas; null where the services know no areas, or do not say now. */
export async function myAreas() {
  const { areas } = (await askIfThere('myAreas', {}).catch(() => null)) ?? {};
  return Array.isArray(areas) ? areas : null;
}
