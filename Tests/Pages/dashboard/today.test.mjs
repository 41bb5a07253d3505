// The start view while a part of the shop is away.
import assert from 'node:assert/strict';
import { setMaxListeners } from 'node:events';
import { test } from 'node:test';
import { load, loadView, Storage } from '../pages.mjs';

/** An element, as far as the view uses one. */
class Element extends EventTarget {
  children = [];
  append(...nodes) {
    this.children.push(...nodes);
  }
  replaceChildren(...nodes) {
    this.children = nodes;
  }
  setAttribute() {}
  show(points) {
    this.children = [`${points.length} days`];
    return this;
  }
}
Object.assign(globalThis, {
  Node: Element,
  HTMLElement: class {},
  customElements: { define() {} },
  sessionStorage: new Storage(),
});
Object.assign(document, {
  createElement: () => new Element(),
  createElementNS: () => new Element(),
  location: { href: 'https://shop.example/dashboard' },
});
// Without retries.
navigator.onLine = false;

const { APIError } = await load('api.js');
const { areas } = await loadView('shell/areas.js');
const { render } = await loadView('pages/today.js');

const point = { at: { __type: 'Date', iso: '2030-05-02T00:00:00.000Z' }, netMinorUnits: 700, orders: 1, pieces: 2 };
const order = { objectId: 'o1', orderNo: 1000001, orderDate: point.at, total: 700, currency: 'usd' };
const services = { mail: { status: 'missing' }, bag: { status: 'ok' } };
const good = {
  '/functions/myAreas': { result: { areas: ['admins'] } },
  '/functions/analyticsSales': { result: [{ currency: 'usd', points: [point, point] }] },
  '/functions/orders': { result: { results: [order], count: 41 } },
  '/classes/Product': { results: [{ objectId: 'p1', name: 'Soap', stock: 0 }], count: 42 },
  '/functions/reviewsToModerate': { result: { results: [{ content: 'Bad soap', reports: 1 }], count: 43 } },
  '/functions/mails': { result: [] },
  '/functions/charges': { result: { results: [], count: 44 } },
  '/functions/pushes': { result: { results: [], count: 45 } },
  '/operations/parked': { counts: [] },
  '/health': { services },
};
let failing = {};
globalThis.fetch = async (url, { signal }) => {
  signal.throwIfAborted();
  const path = Object.keys(good).find((one) => url.startsWith(`/parse${one}`));
  const [status, body] = failing[path] ?? [200, good[path] ?? {}];
  return new Response(JSON.stringify(body), { status });
};

const textOf = (node) => (node instanceof Element ? node.children.map(textOf).join('|') : String(node ?? ''));

async function shown(failures, signal = new AbortController().signal) {
  setMaxListeners(0, signal);
  failing = {};
  await areas.learn();
  failing = failures;
  const content = await render({ router: { href: (path) => path }, signal });
  return content.map(textOf).join('|');
}

const away = (path) => [503, { code: 2, error: `${path} is away` }];
const marks = {
  '/functions/analyticsSales': ['2 days', 'today.week'],
  '/functions/orders': ['1000001', 'today.waitingNote'],
  '/classes/Product': ['Soap'],
  '/functions/reviewsToModerate': ['Bad soap'],
  '/functions/mails': ['today.mails|today.none'],
  '/functions/charges': ['44'],
  '/functions/pushes': ['45'],
  '/operations/parked': ['today.parked|today.none'],
  '/health': ['today.services|mail'],
};

test('a part that is away says so in its place, the others are shown, and it comes back', async () => {
  const whole = await shown({});
  for (const text of Object.values(marks).flat()) assert.ok(whole.includes(text), `${text}: ${whole}`);
  assert.ok(!whole.includes('is away'));
  for (const path of Object.keys(marks)) {
    const part = await shown({ [path]: away(path) });
    assert.equal(part.split(`${path} is away`).length, 2, part);
    for (const [other, texts] of Object.entries(marks))
      for (const text of texts) assert.equal(part.includes(text), other !== path, `${path}, ${text}: ${part}`);
  }
  assert.equal(await shown({}), whole);
});

test('the service that is down is named even while the shop cannot serve', async () => {
  const down = { status: 'failing', services: { catalog: { status: 'missing' } } };
  const text = await shown({ '/health': [503, down], '/classes/Product': away('catalog') });
  assert.ok(text.includes('today.services|catalog'), text);
});

test('all is well without `cloud` in a shop without cloud code, and not in one that has code', async () => {
  const seen = { bag: { status: 'ok' }, cloud: { status: 'missing' } };
  const told = async (status) => shown({ '/health': [200, { status, services: seen }] });
  assert.ok((await told('ok')).includes('today.services|today.allWell'));
  assert.ok((await told('degraded')).includes('today.services|cloud'));
});

test('the view fails without any answer, without a session or right, and when it was left', async () => {
  const all = Object.fromEntries(Object.keys(marks).map((path) => [path, away(path)]));
  await assert.rejects(shown(all), (error) => error instanceof APIError && error.code === 2);
  for (const [status, code] of [
    [400, 209],
    [400, 119],
    [403, -1],
  ])
    await assert.rejects(shown({ '/functions/mails': [status, { code, error: 'no' }] }), { code });
  await assert.rejects(shown({}, AbortSignal.abort()), { name: 'AbortError' });
});
