// Customers: the search, the money, the file and the tags.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load, loadView } from '../pages.mjs';

const { allCustomers, customersAsCSV, filter, spent } = await loadView('customers/totals.js');
const { tagsOf } = await loadView('customers/marks.js');
const { parseCSV } = await load('csv.js');

const ann = {
  customerId: 'a1',
  name: 'Ann Lee',
  email: '=cmd@x.example',
  orders: 2,
  spentMinorUnits: 1050,
  currency: 'usd',
  lastOrderDate: { __type: 'Date', iso: '2030-01-01T00:00:00.000Z' },
  tags: ['VIP', 'late'],
};

test('an address becomes the parameters of the function, which refuses empty texts', () => {
  assert.deepEqual(filter({}), {});
  assert.deepEqual(filter({ search: '  ', tag: '' }), {});
  assert.deepEqual(filter({ search: ' Ann ', tag: 'VIP', sort: 'name', page: '2' }), { search: 'Ann', tag: 'VIP' });
  assert.equal(filter({ search: 'ä'.repeat(500) }).search.length, 60);
});

test('money stands in each currency', () => {
  assert.equal(spent(ann), '$10.50');
  assert.equal(spent({ ...ann, otherSpentMinorUnits: { eur: 500 } }), '$10.50 + €5.00');
  assert.equal(spent({ ...ann, spentMinorUnits: 0, otherSpentMinorUnits: { jpy: 500 } }), '¥500');
  assert.equal(spent({ ...ann, spentMinorUnits: 0 }), '$0.00');
});

test('customers become one row each', () => {
  const others = { ...ann, customerId: 'b2', lastOrderDate: undefined, otherSpentMinorUnits: { eur: 500 }, tags: [] };
  const text = customersAsCSV([ann, others]);
  const [head, first, second] = parseCSV(text).map(({ cells }) => cells);
  const cell = (row, name) => row[head.indexOf(name)];
  assert.deepEqual(
    ['customerId', 'name', 'orders', 'spent', 'currency', 'lastOrder', 'tags'].map((name) => cell(first, name)),
    ['a1', 'Ann Lee', '2', '10.50', 'usd', '2030-01-01 00:00', 'VIP, late'],
  );
  assert.deepEqual([cell(second, 'otherSpent'), cell(second, 'lastOrder')], ['5.00 eur', '']);
  assert.match(text, /'=cmd@x\.example/);
});

test('tags are split at commas, each once', () => {
  assert.deepEqual(tagsOf(' VIP,, pays   late ,VIP'), ['VIP', 'pays late']);
  assert.deepEqual(tagsOf(''), []);
});

test('a file has all pages', async (context) => {
  const asked = [];
  context.mock.method(globalThis, 'fetch', async (_, { body }) => {
    const { skip, limit } = JSON.parse(body);
    asked.push(skip);
    const results = Array.from({ length: Math.min(limit, 700 - skip) }, (_, index) => ({ customerId: skip + index }));
    return new Response(JSON.stringify({ result: { results } }), { headers: { 'Content-Type': 'application/json' } });
  });
  const all = await allCustomers({ tag: 'VIP' });
  assert.deepEqual(asked, [0, 500]);
  assert.equal(all.length, 700);
});
