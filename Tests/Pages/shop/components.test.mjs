// The elements for any site: requests, pages, sections, changes of rows, forms, pictures, and their documentation.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { loadComponent, loadDevelopers } from '../pages.mjs';

/** As much of an element as the classes need before they are in a page. */
class FakeElement extends EventTarget {
  attributes = new Map();
  classList = { add() {}, remove() {} };
  dataset = {};
  attachShadow() {
    this.shadowRoot = { append() {}, prepend() {}, childNodes: [], activeElement: null };
    return this.shadowRoot;
  }
  append() {}
  setAttribute(name, value) {
    this.attributes.set(name, value);
  }
  getAttribute(name) {
    return this.attributes.get(name) ?? null;
  }
  hasAttribute(name) {
    return this.attributes.has(name);
  }
  closest() {
    return null;
  }
  getRootNode() {
    return {};
  }
}

globalThis.HTMLElement = FakeElement;
globalThis.CSSStyleSheet = class {
  replaceSync() {}
};
const elements = new Map();
globalThis.customElements = { get: (name) => elements.get(name), define: (name, made) => elements.set(name, made) };
Object.assign(document, { createElement: () => new FakeElement(), documentElement: { lang: 'en' } });

const { changes, Client } = await loadComponent('parse.js');
const { Pages } = await loadComponent('pages.js');
const lists = await loadComponent('lists.js');
const { followed, placeAt, PULL } = await loadComponent('gestures.js');
const { kept, percent, read } = await loadComponent('progress.js');
const { problemOf } = await loadComponent('form.js');
const { addTexts, keysOf, textOf } = await loadComponent('texts.js');
const { priceOf, whereOf } = await loadComponent('satchel-product-table.js');
for (const name of ['image', 'download', 'log-in', 'sign-up']) await loadComponent(`satchel-${name}.js`);
const documented = await loadDevelopers('elements.js');

/** Answers requests with the given responses, and records them. */
function answer(...responses) {
  const asked = [];
  globalThis.fetch = async (url, options = {}) => {
    asked.push({ url, ...options });
    const next = responses.shift();
    if (next instanceof Error) throw next;
    return next instanceof Response ? next : Response.json(next.body ?? next, { status: next.status ?? 200 });
  };
  return asked;
}

const make = (name, attributes = {}) => {
  const element = new (elements.get(name))();
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
};

const heard = (element, ...names) => {
  const events = [];
  for (const name of names) element.addEventListener(name, ({ type, detail }) => events.push([type, detail]));
  return events;
};

const server = { base: 'https://shop.example/parse/', applicationId: 'satchel', key: 'for-pages' };

test('a request has the application, the key and the session, and no cookie', async () => {
  const client = new Client(server);
  const asked = answer({ sessionToken: 'r:1', objectId: 'u', username: 'ann' }, { results: [1] });
  let told = 0;
  changes.addEventListener('session', () => {
    told += 1;
  });
  assert.deepEqual(await client.logIn('ann', 'secret', '12 34'), {
    user: { objectId: 'u', username: 'ann' },
    sessionToken: 'r:1',
  });
  assert.deepEqual(JSON.parse(asked[0].body).authData, { mfa: { token: '1234' } });
  await new Client({ ...server, base: 'https://shop.example/parse' }).find('A b', { where: '{}', limit: 5, skip: 0 });
  assert.equal(asked[1].url, 'https://shop.example/parse/classes/A%20b?where=%7B%7D&limit=5');
  assert.equal(asked[1].credentials, 'omit');
  assert.deepEqual(asked[1].headers, {
    'X-Parse-Application-Id': 'satchel',
    'X-Parse-Javascript-Key': 'for-pages',
    'X-Parse-Session-Token': 'r:1',
  });
  assert.equal(new Client({ ...server, base: 'https://other.example/parse' }).token, null);
  assert.equal(told, 1);
});

test('an ended session is dropped, and a failure has its code', async () => {
  const client = new Client(server);
  client.begin('r:2');
  answer({ status: 400, body: { code: 209, error: 'Invalid session token' } }, new TypeError('Failed to fetch'));
  await assert.rejects(client.call('GET', '/users/me'), { code: 209, message: 'Invalid session token' });
  assert.equal(client.token, null);
  await assert.rejects(client.call('GET', '/users/me'), { code: 100 });
  answer(new Response('<html>', { status: 502 }));
  await assert.rejects(client.call('GET', '/users/me'), { code: 1, message: '502' });
});

test('pages follow one another, and one that fails is repeated', async () => {
  const skips = [];
  const shown = [];
  const replies = [[1, 2], new Error('away'), [3, 4], [5], [1, 2]];
  const pages = new Pages(
    async ({ skip }) => {
      skips.push(skip);
      const rows = replies.shift();
      if (rows instanceof Error) throw rows;
      return { rows, isLast: rows.length < 2 };
    },
    (rows, isAgain) => rows && shown.push([rows, isAgain]),
  );
  await pages.again();
  await pages.more();
  assert.equal(pages.state, 'failed');
  await pages.retry();
  // A row was deleted at the server.
  pages.lost(1);
  await pages.more();
  assert.equal(pages.isLast, true);
  assert.equal(pages.more(), null);
  await pages.again();
  assert.deepEqual(skips, [0, 2, 2, 3, 0]);
  assert.deepEqual(shown, [
    [[1, 2], true],
    [[3, 4], false],
    [[5], false],
    [[1, 2], true],
  ]);
});

test('a page that comes late does not replace a newer one', async () => {
  const waiting = [];
  const shown = [];
  const pages = new Pages(
    () => new Promise((resolve) => waiting.push(resolve)),
    (rows) => rows && shown.push(rows),
  );
  const first = pages.again();
  const second = pages.again();
  waiting[1]({ rows: ['new'], isLast: true });
  waiting[0]({ rows: ['old'], isLast: true });
  await Promise.all([first, second]);
  assert.deepEqual(shown, [['new']]);
});

test('rows are under their letters', () => {
  assert.deepEqual(['Über', 'éclair', 'ßa', '9', '', undefined, 'яблоко'].map(lists.letterOf), [
    'U',
    'E',
    '#',
    '#',
    '#',
    '#',
    'Я',
  ]);
  const rows = [{ n: 'Ab' }, { n: 'Ba' }, { n: 'ac' }];
  assert.deepEqual(lists.sectionsOf(rows, 'n'), [
    { name: 'A', rows: [rows[0], rows[2]] },
    { name: 'B', rows: [rows[1]] },
  ]);
  assert.deepEqual(
    lists.sectionsOf([{ b: { t: 'X' } }, { b: null }], 'b.t', 'value').map(({ name }) => name),
    ['X', ''],
  );
  assert.deepEqual(lists.sectionsOf(rows, null), [{ name: null, rows }]);
});

test('places, actions and addresses', () => {
  assert.deepEqual(lists.moved(['a', 'b', 'c'], 0, 2), ['b', 'c', 'a']);
  assert.deepEqual(lists.moved(['a', 'b', 'c'], 2, 0), ['c', 'a', 'b']);
  assert.deepEqual(
    [lists.between(1, 2), lists.between(1), lists.between(undefined, 1), lists.between()],
    [1.5, 2, 0, 0],
  );
  assert.deepEqual(lists.actionsOf('save:Save it, delete'), [
    { name: 'save', label: 'Save it' },
    { name: 'delete', label: 'delete' },
  ]);
  assert.equal(lists.filled('/p/{brand.t}/{no}', { brand: { t: 'a/b' } }), '/p/a%2Fb/');
  assert.equal(lists.addressOf({ url: 'https://x.example/a.png' }), 'https://x.example/a.png');
  for (const value of ['javascript:alert(1)', 'data:text/html,x', null, undefined, {}, { url: 'file:///etc' }]) {
    assert.equal(lists.addressOf(value), null, String(value));
  }
  assert.deepEqual([0, 40, PULL * 2, 1000].map(followed), [0, 20, PULL, PULL * 1.25]);
  const edges = [0, 10, 20].map((top) => ({ top, bottom: top + 10 }));
  assert.deepEqual(
    [-5, 4, 6, 26].map((y) => placeAt(y, edges)),
    [0, 0, 1, 3],
  );
});

test('rows are deleted, added and moved; a page that prevents it keeps them', async () => {
  const table = make('satchel-table');
  const [a, b, c] = ['a', 'b', 'c'].map((objectId) => ({ objectId, name: objectId }));
  table.rows = [a, b, c];
  const events = heard(table, 'satchel-delete', 'satchel-insert', 'satchel-reorder');
  await table.move(a, 2);
  await table.remove(b);
  const d = { name: 'd' };
  await table.insert(d, 1);
  assert.deepEqual(table.rows, [c, d, a]);
  assert.deepEqual(events, [
    ['satchel-reorder', { row: a, from: 0, to: 2 }],
    ['satchel-delete', { row: b }],
    ['satchel-insert', { row: d, place: 1 }],
  ]);
  for (const name of ['satchel-delete', 'satchel-insert', 'satchel-reorder']) {
    table.addEventListener(name, (event) => event.preventDefault());
  }
  table.remove(a);
  table.insert({ name: 'e' });
  table.move(a, 0);
  assert.deepEqual(table.rows, [c, d, a]);
});

test('a refusal takes back its own change alone', async () => {
  const table = make('satchel-table');
  const [a, b, c] = ['a', 'b', 'c'].map((objectId) => ({ objectId, name: objectId }));
  table.rows = [a, b, c];
  const waiting = [];
  table.deleted = () => new Promise((resolve, reject) => waiting.push({ resolve, reject }));
  const [first, second] = [table.remove(a), table.remove(b)];
  waiting[1].resolve();
  await second;
  waiting[0].reject(new Error('no'));
  await first;
  assert.deepEqual(table.rows, [a, c]);
  const third = table.remove(a);
  const fresh = [{ ...a }, { ...c, name: 'new' }];
  table.rows = fresh;
  waiting[2].reject(new Error('no'));
  await third;
  assert.deepEqual(table.rows, fresh);
});

test('a selection is of one row or of several', () => {
  const table = make('satchel-table', { selection: 'multiple' });
  table.rows = [{ objectId: 'a' }, { objectId: 'b' }];
  const events = heard(table, 'satchel-select');
  table.select(table.rows[0]);
  table.select(table.rows[1]);
  table.select(table.rows[0], false);
  assert.deepEqual(
    events.map(([, { rows }]) => rows.map(({ objectId }) => objectId).join('')),
    ['a', 'ab', 'b'],
  );
  table.setAttribute('selection', 'single');
  table.select(table.rows[0]);
  assert.deepEqual(table.selected, [table.rows[0]]);
  // The same objects, loaded anew.
  table.rows = [{ objectId: 'b' }, { objectId: 'a' }];
  assert.deepEqual(table.selected, [table.rows[1]]);
});

const asking = { base: 'https://own.example/parse', 'class-name': 'Thing', order: 'place', 'page-size': '2' };

test('a query table asks for pages, and shows no object twice', async () => {
  const table = make('satchel-query-table', { ...asking, where: '{"a":1}' });
  const [a, b, c] = ['a', 'b', 'c'].map((objectId) => ({ objectId }));
  const asked = answer({ results: [a, b] }, { results: [b, c] }, { results: [] });
  await table.refresh();
  await table.loadMore();
  await table.loadMore();
  assert.deepEqual(table.rows, [a, b, c]);
  assert.deepEqual(
    asked.map(({ url }) => new URL(url).searchParams.get('skip')),
    [null, '2', '4'],
  );
  assert.equal(new URL(asked[0].url).searchParams.get('where'), '{"a":1}');
  assert.equal(table.loadMore(), null);
});

test('changes are saved where the page says so, and taken back when refused', async () => {
  const table = make('satchel-query-table', { ...asking, saves: '', 'position-key': 'place', 'title-key': 'title' });
  const rows = [1, 2, 3].map((place) => ({ objectId: `o${place}`, place }));
  table.rows = rows;
  const asked = answer({}, {}, { status: 201, body: { objectId: 'o4' } }, { status: 403, body: { code: 119 } });
  await table.move(rows[2], 1);
  await table.remove(rows[0]);
  await table.insert({ title: 'New' });
  assert.deepEqual(
    asked.map(({ method, url, body }) => [method, new URL(url).pathname, body && JSON.parse(body)]),
    [
      ['PUT', '/parse/classes/Thing/o3', { place: 1.5 }],
      ['DELETE', '/parse/classes/Thing/o1', undefined],
      ['POST', '/parse/classes/Thing', { title: 'New', place: 0.5 }],
    ],
  );
  assert.deepEqual(
    table.rows.map(({ objectId }) => objectId),
    ['o4', 'o3', 'o2'],
  );
  const errors = heard(table, 'satchel-error');
  await table.remove(rows[1]);
  assert.equal(table.rows.length, 3);
  assert.equal(errors[0][1].error.code, 119);
  table.attributes.delete('saves');
  await table.remove(rows[1]);
  assert.equal(asked.length, 4);
});

test('products are found by brand, words and price, in any letter case', async () => {
  assert.deepEqual(whereOf({ search: ' Rose (oil) ', min: '2', max: '3.5', brand: 'b1' }), {
    active: { $ne: false },
    brand: { __type: 'Pointer', className: 'Category', objectId: 'b1' },
    $and: [{ name: { $regex: 'Rose', $options: 'i' } }, { name: { $regex: '\\(oil\\)', $options: 'i' } }],
    unitPrice: { $gte: 2, $lte: 3.5 },
  });
  assert.equal(priceOf({ unitPrice: 3.5, priceUnit: 'ea' }, 'USD', 'en'), '$3.50/ea');
  assert.equal(priceOf({ unitPrice: 3.5 }, 'EUR', 'de'), '3,50\u00a0€');
  assert.equal(priceOf({}, 'USD', 'en'), '');
  const table = make('satchel-product-table', { base: 'https://own.example/parse', bag: '' });
  assert.deepEqual(table.offers({ stock: 1 }), [{ name: 'bag', label: 'Add to bag' }]);
  assert.deepEqual(table.offers({ stock: 0 }), []);
});

test('a guest gets an account for the bag once', async () => {
  const table = make('satchel-product-table', { base: 'https://guest.example/parse' });
  const events = heard(table, 'satchel-bag');
  const asked = answer({ sessionToken: 'r:3' }, { result: { quantity: 1 } }, { result: { quantity: 2 } });
  await table.act('bag', { objectId: 'p', name: 'Balm' });
  await table.act('bag', { objectId: 'p', name: 'Balm' });
  assert.deepEqual(
    asked.map(({ url }) => new URL(url).pathname),
    ['/parse/users', '/parse/functions/addToBag', '/parse/functions/addToBag'],
  );
  assert.match(JSON.parse(asked[0].body).authData.anonymous.id, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  assert.equal(events.length, 2);
});

test('fields have the rules of the reference app', () => {
  assert.deepEqual(
    [
      ['firstName', ' '],
      ['email', 'ann'],
      ['email', ' ann@example.com '],
      ['newPassword', '12345'],
      ['newPassword', '123456'],
      ['password', 'x'],
    ].map(([kind, value]) => problemOf(kind, value)),
    ['wanted', 'emailWrong', null, 'passwordShort', null, null],
  );
});

test('progress is that of the bytes, and unknown for compressed ones', async () => {
  const told = [];
  const body = () =>
    new Response(new Uint8Array(10), { headers: { 'Content-Length': '10', 'Content-Type': 'image/png' } });
  const blob = await read(body(), (received, length) => told.push(percent(received, length)));
  assert.equal(blob.size, 10);
  assert.equal(blob.type, 'image/png');
  assert.equal(told.at(-1), 100);
  const packed = new Response(new Uint8Array(10), { headers: { 'Content-Length': '3', 'Content-Encoding': 'gzip' } });
  await read(packed, (received, length) => told.push(percent(received, length)));
  assert.equal(told.at(-1), null);
});

test('pictures are kept, the oldest go first, and a failure is not kept', async () => {
  const stored = new Map();
  const store = {
    match: async (url) => stored.get(url)?.clone(),
    put: async (url, response) => stored.set(url, response),
    keys: async () => [...stored.keys()],
    delete: async (url) => stored.delete(url),
  };
  globalThis.caches = { open: async () => store };
  const asked = answer(new Response('1'), new Response('2'), new Response('3'), new Response('', { status: 404 }));
  const turn = () => new Promise((resolve) => setTimeout(resolve, 5));
  for (const url of ['a', 'b', 'b', 'c']) {
    await kept(url, 2);
    await turn();
  }
  assert.deepEqual([...stored.keys()], ['b', 'c']);
  assert.equal(asked.length, 3);
  await assert.rejects(kept('d', 2), /404/);
  assert.equal(stored.has('d'), false);
  delete globalThis.caches;
});

test('all languages have the same texts, and a page adds its own', () => {
  assert.deepEqual(keysOf('de'), keysOf('en'));
  const folder = new URL('../../../Services/Web/Site/components/', import.meta.url);
  const sources = readdirSync(folder).map((name) => readFileSync(new URL(name, folder), 'utf8'));
  const used = sources.flatMap((text) => [...text.matchAll(/\.text\('(\w+)'/g)].map(([, key]) => key));
  assert.ok(used.length > 30);
  for (const key of used) assert.ok(keysOf('en').includes(key), key);
  assert.equal(textOf('de-CH', 'shown', { n: 3 }), '3 Einträge');
  assert.equal(textOf('fr', 'edit'), 'Edit');
  addTexts('fr', { edit: 'Modifier' });
  assert.equal(textOf('fr-FR', 'edit'), 'Modifier');
});

test('each attribute and event of the documentation has its text, and each attribute is observed', () => {
  const texts = (language) =>
    JSON.parse(
      readFileSync(new URL(`../../../Services/Web/Site/developers/texts/${language}.json`, import.meta.url), 'utf8'),
    );
  const all = [...documented.elements, ...documented.behaviours];
  for (const language of ['en', 'de']) {
    const known = texts(language);
    for (const { id, attributes, events } of all) {
      const keys = [
        `components.${id}`,
        `components.${id}.text`,
        ...Object.keys(attributes).map((name) => `attribute.${documented.keyOf(name)}`),
        ...Object.keys(events).map((name) => `event.${documented.keyOf(name)}`),
      ];
      for (const key of keys) assert.ok(known[key], `${language}: ${key}`);
    }
  }
  // These are read when they are needed.
  const others = ['saves', 'position-key', 'auto-pages', 'heading-level', 'cache', 'progress', 'name', 'forgot'];
  for (const { tag, attributes } of all) {
    const observed = new Set([...(elements.get(tag).observedAttributes ?? []), ...others]);
    for (const name of Object.keys(attributes)) assert.ok(observed.has(name), `${tag}: ${name}`);
  }
});

test('the lines to copy are HTML, whatever a value has in it', () => {
  const app = { url: 'https://shop.example/parse', applicationId: 'a"<b>&', clientKey: '' };
  const lines = documented.markupOf({ tag: 'satchel-image', example: { src: 'x', progress: true } }, app, {
    x: '/1.png',
  });
  assert.match(
    lines,
    /^<script type="module" src="https:\/\/shop\.example\/components\/v1\/satchel-image\.js"><\/script>\n/,
  );
  assert.match(lines, /application-id="a&quot;&lt;b>&amp;"\n {2}src="\/1\.png"\n {2}progress><\/satchel-image>$/);
  assert.doesNotMatch(lines, /key=/);
  assert.match(documented.policyOf(app), /script-src https:\/\/shop\.example;/);
});
