// The checklist of a new shop: the steps that the server knows to be done.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadView } from '../pages.mjs';

const { stepsOf, valuesOf } = await loadView('today/checklist.js');

const done = (known) =>
  stepsOf(known)
    .filter(({ isDone }) => isDone)
    .map(({ name }) => name);

test('nothing is done in a new shop, and all of it in one that is open', () => {
  const settings = new Map([['SATCHEL_PUBLIC_URL', 'http://127.0.0.1:1337/parse']]);
  assert.deepEqual(done({ products: 0, orders: 0, operators: 1, settings }), []);
  const open = new Map([
    ['SATCHEL_PAYMENTS', 'stripe'],
    ['SATCHEL_MAIL', 'smtp'],
    ['SATCHEL_PUBLIC_URL', 'https://shop.example/parse'],
  ]);
  const all = ['product', 'payments', 'mail', 'address', 'team', 'order'];
  assert.deepEqual(done({ products: 1, orders: 1, operators: 2, settings: open }), all);
});

test('defaults, and an address of this machine, are not enough', () => {
  const known = { products: 0, orders: 0, operators: undefined };
  assert.deepEqual(done({ ...known, settings: new Map() }), []);
  for (const url of ['https://localhost/parse', 'https://127.0.0.1/parse', 'http://shop.example/parse', 'shop'])
    assert.deepEqual(done({ ...known, settings: new Map([['SATCHEL_PUBLIC_URL', url]]) }), [], url);
});

test('each step leads to its page', () => {
  const steps = stepsOf({ products: 0, orders: 0, operators: 1, settings: new Map() });
  assert.ok(steps.every(({ path }) => path.startsWith('/')));
  assert.deepEqual(steps.find(({ name }) => name === 'mail').query, { search: 'SATCHEL_MAIL' });
});

test('a setting is taken from the first process that has a value for it', () => {
  const one = (name, value) => ({ name, value });
  const values = valuesOf([
    { service: 'gateway', settings: [one('SATCHEL_PUBLIC_URL', 'https://shop.example')] },
    { service: 'payments', settings: [one('SATCHEL_PAYMENTS', 'stripe'), one('SATCHEL_PUBLIC_URL', '')] },
    { service: 'mail' },
  ]);
  assert.deepEqual(
    [values.get('SATCHEL_PUBLIC_URL'), values.get('SATCHEL_PAYMENTS')],
    ['https://shop.example', 'stripe'],
  );
});
