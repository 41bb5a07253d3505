// The storefront's modules: suggestions, long lists, products viewed last, the page without a network.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadComponent, loadShop, Storage } from '../pages.mjs';

const { Suggestions, selected } = await loadShop('browsing/suggesting.js');
const { loadsItself } = await loadComponent('end.js');
const { keep, kept, later } = await loadShop('browsing/place.js');
const { forget, view, viewed } = await loadShop('browsing/viewed.js');
const { pathNear } = await loadShop('browsing/near.js');

/** Suggestions that record their requests and their lists; `answers` has a promise for each text. */
function field(answers) {
  const asked = [];
  const shown = [];
  const ask = (text, signal) => {
    asked.push({ text, signal });
    return answers[text];
  };
  return { asked, shown, field: new Suggestions(ask, (found) => shown.push(found), 0) };
}

const turn = () => new Promise((resolve) => setTimeout(resolve, 5));

test('only the last text is asked for, and once', async () => {
  const { asked, shown, field: search } = field({ rose: Promise.resolve(['Rose']) });
  for (const text of ['r', 'ro', 'ros', 'rose ']) search.typed(text);
  await turn();
  assert.deepEqual(
    asked.map(({ text }) => text),
    ['rose'],
  );
  assert.deepEqual(shown, [[], ['Rose']]);
  search.typed('rose');
  assert.deepEqual(shown.at(-1), ['Rose']);
  assert.equal(asked.length, 1);
});

test('a late answer does not replace a later one, and a failure shows nothing', async () => {
  let answer;
  const slow = new Promise((resolve) => {
    answer = resolve;
  });
  const refused = Promise.reject(new Error('429'));
  refused.catch(() => {});
  const { asked, shown, field: search } = field({ slow, fast: Promise.resolve(['Fast']), wrong: refused });
  search.typed('slow');
  await turn();
  search.typed('fast');
  assert.equal(asked[0].signal.aborted, true);
  await turn();
  answer(['Slow']);
  await turn();
  assert.deepEqual(shown, [['Fast']]);
  search.typed('wrong');
  await turn();
  assert.deepEqual(shown.at(-1), []);
});

test('the arrow keys go through the suggestions and back to the text', () => {
  assert.deepEqual(
    [-1, 0, 1, 2].map((index) => selected('ArrowDown', index, 3)),
    [0, 1, 2, -1],
  );
  assert.deepEqual(
    [-1, 0, 1, 2].map((index) => selected('ArrowUp', index, 3)),
    [2, -1, 0, 1],
  );
  assert.equal(selected('ArrowDown', -1, 0), -1);
  assert.equal(selected('a', 1, 3), 1);
});

test('the place in a list is kept beside what others keep', () => {
  const history = {
    state: { other: 1 },
    replaceState(state) {
      this.state = state;
    },
  };
  keep(history, 3, 1234.6);
  assert.deepEqual(history.state, { other: 1, list: { pages: 3, top: 1235 } });
  assert.deepEqual(kept(history.state), { pages: 3, top: 1235 });
  for (const state of [null, {}, { list: 1 }, { list: { pages: -1, top: 'x' } }, { list: { pages: 1.5 } }]) {
    assert.deepEqual(kept(state), { pages: 0, top: 0 });
  }
  assert.equal(loadsItself(3), true);
  assert.equal(loadsItself(4), false);
});

test('many calls run once', async () => {
  let runs = 0;
  const run = later(() => {
    runs += 1;
  }, 0);
  run();
  run();
  run();
  await turn();
  assert.equal(runs, 1);
});

test('products viewed last are kept once each, eight of them, in this browser', () => {
  const storage = new Storage();
  for (let number = 1; number <= 10; number += 1) {
    view(storage, { id: `p${number}`, name: `P ${number}`, href: `/products/p-p${number}` });
  }
  view(storage, { id: 'p5', name: 'P 5', href: '/products/p-p5' });
  assert.deepEqual(
    viewed(storage).map(({ id }) => id),
    ['p5', 'p10', 'p9', 'p8', 'p7', 'p6', 'p4', 'p3'],
  );
  forget(storage);
  assert.deepEqual(viewed(storage), []);
});

test('what is not a product of the shop is not shown', () => {
  const storage = new Storage();
  for (const text of ['{', '1', 'null', '[null]', '[{"id":"a","name":"A","href":"javascript:alert(1)"}]']) {
    storage.setItem('satchel-viewed', text);
    assert.deepEqual(viewed(storage), [], text);
  }
  const off = {
    getItem() {
      throw new Error('off');
    },
    setItem() {
      throw new Error('full');
    },
  };
  view(off, { id: 'a', name: 'A', href: '/products/a' });
  assert.deepEqual(viewed(off), []);
});

test('a position is rounded', () => {
  assert.equal(pathNear({ latitude: 52.520008, longitude: -13.4 }), '/stores?latitude=52.520&longitude=-13.400');
});

test('the worker keeps the offline page and its files, and no page of a shopper', async () => {
  const handlers = {};
  const stores = new Map();
  const asked = [];
  let isOnline = true;
  globalThis.self = {
    location: new URL('https://shop.example/shop/assets/2/shop/worker.js'),
    addEventListener: (name, handler) => {
      handlers[name] = handler;
    },
  };
  globalThis.caches = {
    open: async (name) => {
      if (!stores.has(name)) stores.set(name, new Map());
      const store = stores.get(name);
      return {
        put: async (key, value) => store.set(key, value),
        addAll: async (keys) => keys.map((key) => store.set(key, key)),
      };
    },
    keys: async () => [...stores.keys()],
    delete: async (name) => stores.delete(name),
    match: async (request) => {
      const key = typeof request === 'string' ? request : new URL(request.url).pathname;
      return [...stores.values()].map((store) => store.get(key)).find(Boolean);
    },
  };
  const files = '<link href="/shop/assets/2/shop/shop.css"><script src="/shop/assets/2/shop/shop.js"></script>';
  const body = `${files}<a href="/bag">`;
  globalThis.fetch = async (request, options) => {
    asked.push([request.url ?? request, options?.credentials]);
    if (!isOnline) throw new TypeError('offline');
    return new Response(body);
  };
  await loadShop('worker.js');
  const run = async (name, event = {}) => {
    let done;
    const keep = (promise) => {
      done = promise;
    };
    handlers[name]({ ...event, waitUntil: keep, respondWith: keep });
    return await done;
  };
  const get = (path, mode = 'navigate', method = 'GET') =>
    run('fetch', { request: { url: new URL(path, 'https://shop.example').href, mode, method } });

  stores.set('shop /shop/assets/1/shop/worker.js', new Map());
  stores.set('another', new Map());
  await run('install');
  await run('activate');
  assert.deepEqual(asked, [['/offline', 'omit']]);
  assert.deepEqual([...stores.keys()], ['another', 'shop /shop/assets/2/shop/worker.js']);
  const store = stores.get('shop /shop/assets/2/shop/worker.js');
  assert.deepEqual([...store.keys()], ['/offline', '/shop/assets/2/shop/shop.css', '/shop/assets/2/shop/shop.js']);

  assert.equal(await (await get('/account')).text(), body);
  assert.equal(store.size, 3);
  isOnline = false;
  assert.equal(await get('/account'), store.get('/offline'));
  assert.equal(await get('/shop/assets/2/shop/shop.css', 'no-cors'), '/shop/assets/2/shop/shop.css');
  // The browser itself answers these.
  assert.equal(await get('/bag', 'navigate', 'POST'), undefined);
  assert.equal(await get('/badge', 'cors'), undefined);
  assert.equal(await get('/dashboard/orders'), undefined);
  assert.equal(await get('https://other.example/'), undefined);
});
