// Changes that show before the server has them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load } from './pages.mjs';

const { Collection, cached, forgetAll } = await load('store.js');

function waiting() {
  let settle;
  const promise = new Promise((resolve, reject) => {
    settle = { resolve, reject };
  });
  return { promise, ...settle };
}

test('a change shows at once and is undone when it is refused', async () => {
  const products = new Collection();
  products.put([{ objectId: 'a', stock: 3, unitPrice: 1 }]);
  const seen = [];
  products.subscribe((product) => seen.push(product.stock));
  const answer = waiting();
  const change = products.change('a', { stock: 5 }, () => answer.promise);
  assert.equal(products.get('a').stock, 5);
  answer.reject(new Error('no'));
  await assert.rejects(change, /no/);
  assert.equal(products.get('a').stock, 3);
  assert.deepEqual(seen, [5, 3]);
});

test('a refusal undoes its own change alone', async () => {
  const products = new Collection();
  products.put([{ objectId: 'a', stock: 3, unitPrice: 1 }]);
  const [first, second] = [waiting(), waiting()];
  const changes = [
    products.change('a', { stock: 5 }, () => first.promise),
    products.change('a', { unitPrice: 2 }, () => second.promise),
  ];
  first.reject(new Error('no'));
  await assert.rejects(changes[0]);
  assert.deepEqual(products.get('a'), { objectId: 'a', stock: 3, unitPrice: 2 });
  second.resolve({ updatedAt: 'now' });
  await changes[1];
  assert.deepEqual(products.get('a'), { objectId: 'a', stock: 3, unitPrice: 2, updatedAt: 'now' });
});

test('of two changes of a field the later one stays, whichever is answered first', async () => {
  for (const isRefused of [false, true]) {
    const products = new Collection();
    products.put([{ objectId: 'a', stock: 3 }]);
    const [first, second] = [waiting(), waiting()];
    const changes = [
      products.change('a', { stock: 5 }, () => first.promise),
      products.change('a', { stock: 6 }, () => second.promise),
    ];
    second.resolve({ updatedAt: 'then' });
    assert.deepEqual(await changes[1], { objectId: 'a', stock: 6, updatedAt: 'then' });
    if (isRefused) first.reject(new Error('no'));
    else first.resolve({ updatedAt: 'now' });
    await changes[0].catch(() => {});
    assert.deepEqual(products.get('a'), { objectId: 'a', stock: 6, updatedAt: 'then' });
    await products.change('a', { stock: 7 }, async () => ({}));
    assert.equal(products.get('a').stock, 7);
  }
});

test('answers are used again, failures are not, and a sign-out forgets', async () => {
  let calls = 0;
  const load = async () => {
    calls += 1;
    return calls;
  };
  assert.equal(await cached('k', load), 1);
  assert.equal(await cached('k', load), 1);
  forgetAll();
  assert.equal(await cached('k', load), 2);
  await assert.rejects(
    cached('f', async () => {
      throw new Error('no');
    }),
  );
  assert.equal(await cached('f', async () => 'yes'), 'yes');
});
