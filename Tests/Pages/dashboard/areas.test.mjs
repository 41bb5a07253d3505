// Which parts of the dashboard a role sees.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadView } from '../pages.mjs';

const { areas, runs, sees } = await loadView('shell/areas.js');
const entries = ['today', 'orders', 'products', 'reviews', 'customers', 'data', 'promotions', 'crashes', 'analytics'];
const sheets = ['codes', 'storefront', 'operations', 'parked', 'schema', 'settings', 'backups', 'audit'];

async function learn(answer) {
  globalThis.fetch = async () => ({ ok: true, json: async () => ({ result: answer }) });
  return areas.learn();
}

test('each role sees what is its own', async () => {
  const own = {
    catalog: ['today', 'products', 'reviews', 'data'],
    orders: ['today', 'orders', 'customers', 'codes', 'parked'],
    support: ['today', 'orders', 'reviews', 'customers', 'crashes', 'codes', 'parked'],
    developers: ['today', 'data', 'crashes', 'analytics', 'storefront', 'operations', 'parked', 'schema'],
    admins: [...entries, ...sheets],
  };
  for (const [area, seen] of Object.entries(own)) {
    await learn({ areas: [area] });
    assert.deepEqual(
      [...entries, ...sheets].filter((entry) => sees(entry)),
      seen,
      area,
    );
  }
  await learn({ areas: ['catalog', 'orders'] });
  assert.ok(sees('products') && sees('orders') && runs('support', 'orders') && !runs('support'));
});

test('nobody sees anything before the services said so', async () => {
  for (const answer of [{}, { areas: 'admins' }, { areas: [] }]) {
    assert.deepEqual(await learn(answer), []);
    assert.ok([...entries, ...sheets].every((entry) => !sees(entry)));
  }
  await learn({ areas: ['admins'] });
  areas.forget();
  assert.ok(!sees('today') && !sees('constructor'));
});
