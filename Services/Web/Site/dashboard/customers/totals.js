// Customers with their totals: the search, texts and the file.

import { ask } from '../../shared/api.js';
import { writeCSV } from '../../shared/csv.js';
import { decimalText, moment, money } from '../../shared/format.js';
import { localText } from '../../shared/zone.js';

/** Customers of one request of an export. */
const PAGE = 500;

/** The parameters of `customers` for an address. */
export function filter({ search, tag }) {
  const text = (search ?? '').trim().slice(0, 60);
  return { ...(text ? { search: text } : {}), ...(tag ? { tag } : {}) };
}

/** What a customer paid, in each currency. */
export function spent({ spentMinorUnits, currency, otherSpentMinorUnits = {} }) {
  const others = Object.entries(otherSpentMinorUnits);
  const all = spentMinorUnits || !others.length ? [[currency, spentMinorUnits], ...others] : others;
  return all.map(([code, minorUnits]) => money(minorUnits, code)).join(' + ');
}

const head = [
  'customerId',
  'name',
  'email',
  'phone',
  'zip',
  'city',
  'orders',
  'spent',
  'currency',
  'otherSpent',
  'lastOrder',
  'tags',
];

/** One row for each customer, with amounts in major units. */
export function customersAsCSV(customers) {
  const rows = customers.map((customer) => [
    customer.customerId,
    customer.name,
    customer.email,
    customer.phone,
    customer.zipcode,
    customer.city,
    customer.orders,
    decimalText(customer.spentMinorUnits, customer.currency),
    customer.currency,
    Object.entries(customer.otherSpentMinorUnits ?? {})
      .map(([code, minorUnits]) => `${decimalText(minorUnits, code)} ${code}`)
      .join(' '),
    localText(moment(customer.lastOrderDate)).replace('T', ' '),
    customer.tags.join(', '),
  ]);
  return writeCSV([head, ...rows]);
}

/** All customers that a search finds, by name. */
export async function allCustomers(wanted) {
  const all = [];
  for (;;) {
    const { results } = await ask('customers', { ...wanted, sort: 'name', limit: PAGE, skip: all.length });
    all.push(...results);
    if (results.length < PAGE) return all;
  }
}
