// The storefront's modules that follow changes of products, and the map of stores.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load, loadShop } from '../pages.mjs';

const { items, notes, renew } = await loadShop('changes.js');
const { Renewal } = await loadShop('renewal.js');
const { address, query } = await loadShop('live.js');
const { points } = await loadShop('map.js');
const { t, useTexts } = await load('i18n.js');

const texts = { price: 'The price has changed: {old} → {new}' };
const item = (id, price, state = '', name = '') => ({ id, name, price, state });

test('a page names its products with their prices and states', () => {
  const part = (textContent) => ({ textContent });
  const line = {
    dataset: { item: 'p1', name: 'Rose' },
    querySelector: (selector) => ({ '[data-price]': part(' $3.50\n') })[selector] ?? null,
  };
  assert.deepEqual(items({ querySelectorAll: () => [line] }), [item('p1', '$3.50', '', 'Rose')]);
});

test('a note says what has changed, and of which product', () => {
  assert.deepEqual(notes([item('a', '$12')], [item('a', '$14')], texts), ['The price has changed: $12 → $14']);
  assert.deepEqual(notes([item('a', '$12', 'In stock')], [item('a', '$12', 'Sold out')], texts), ['Sold out']);
  assert.deepEqual(notes([item('a', '$1', 'Only 2 left', 'Rose')], [item('a', "$&'", '', 'Rose')], texts), [
    "Rose: The price has changed: $1 → $&'",
  ]);
  assert.deepEqual(notes([item('a', '$1')], [item('a', '$1'), item('b', '$2', 'Sold out')], texts), []);
});

test('only parts that differ are replaced, and the focus stays', () => {
  const replaced = [];
  const button = {
    focus: () => replaced.push('focus'),
  };
  const part = (fresh, text, controls = []) => ({
    dataset: { fresh },
    text,
    isEqualNode: (other) => other.text === text,
    querySelectorAll: () => controls,
    replaceWith: (next) => replaced.push(next.text),
  });
  const shown = (parts, activeElement) => ({
    activeElement,
    importNode: (node) => node,
    querySelectorAll: () => parts,
    querySelector: (selector) => parts.find(({ dataset }) => selector === `[data-fresh="${dataset.fresh}"]`) ?? null,
  });
  const old = {};
  const page = shown([part('lines', '2', [{}, old]), part('sums', '$7')], old);
  assert.equal(renew(page, shown([part('lines', '3', [{}, button]), part('sums', '$7')])), true);
  assert.deepEqual(replaced, ['3', 'focus']);
  assert.equal(renew(page, shown([part('lines', '4', [button])])), false);
  assert.equal(replaced.length, 2);
});

test('many events cause one run, and a failed run is repeated with growing pauses', async () => {
  const waits = [];
  let timer = null;
  const clock = {
    setTimeout(run, wait) {
      waits.push(wait);
      timer = run;
      return waits.length;
    },
  };
  const next = async () => {
    const run = timer;
    timer = null;
    run();
    await new Promise((resolve) => setImmediate(resolve));
  };
  let runs = 0;
  let isGood = true;
  const renewal = new Renewal(
    async () => {
      runs += 1;
      return isGood;
    },
    { clock, random: () => 0 },
  );
  for (let event = 0; event < 5; event += 1) renewal.ask();
  await next();
  assert.equal(runs, 1);
  assert.equal(timer, null);
  isGood = false;
  renewal.ask();
  while (timer) await next();
  assert.equal(runs, 7);
  assert.deepEqual(waits, [100, 100, 200, 400, 800, 1600, 3200]);
  isGood = true;
  renewal.ask();
  await next();
  assert.equal(waits.at(-1), 100);
  assert.equal(timer, null);
});

test('the page listens to its own products at its own host', () => {
  assert.equal(address('/parse', 'https://shop.example/bag?x=1'), 'wss://shop.example/parse');
  assert.equal(address('/', 'http://127.0.0.1:1337/products/a'), 'ws://127.0.0.1:1337/');
  const { className, where, watch } = query(['a', 'b']);
  assert.equal(className, 'Product');
  assert.deepEqual(where, { objectId: { $in: ['a', 'b'] } });
  assert.deepEqual(watch, ['active', 'name', 'priceUnit', 'stock', 'unitPrice']);
});

test('the map has the places of the list and the texts of the page', () => {
  const store = {
    id: 'store-a',
    dataset: { latitude: '46.95', longitude: '-7.4' },
    querySelector: () => ({ textContent: 'Bern' }),
  };
  assert.deepEqual(points([store]), [{ id: 'store-a', name: 'Bern', place: { latitude: 46.95, longitude: -7.4 } }]);
  useTexts({ 'map.point': '{name}, {index} von {count}' }, 'de');
  assert.equal(t('map.point', { name: 'Bern', index: 1, count: 2 }), 'Bern, 1 von 2');
});
