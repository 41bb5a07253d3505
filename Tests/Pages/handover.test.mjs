// A session goes only to a window that the page has just opened, and only once.
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { load, Storage } from './pages.mjs';

const ORIGIN = 'https://shop.example';
const ASK = 'satchel.session?';
const handlers = new Map();
const opened = [];
globalThis.sessionStorage = new Storage();
globalThis.location = new URL(`${ORIGIN}/dashboard/orders`);
globalThis.addEventListener = (type, work) => handlers.set(type, work);
globalThis.removeEventListener = (type, work) => handlers.get(type) === work && handlers.delete(type);
globalThis.document.addEventListener = globalThis.addEventListener;

/** A window that records its messages. */
const tab = () => {
  const messages = [];
  return { messages, postMessage: (data, origin) => messages.push([data, origin]) };
};
globalThis.open = (url) => {
  opened.push({ url, tab: tab() });
  return opened.at(-1).tab;
};

const { auth } = await load('api.js');
const { shareSession, takeSession } = await load('handover.js');

function click(href, more = {}) {
  const link = { href: new URL(href, location).href, target: '', getAttribute: () => href, ...more.link };
  const event = {
    target: { closest: () => link },
    button: 0,
    ctrlKey: true,
    defaultPrevented: false,
    preventDefault() {
      this.defaultPrevented = true;
    },
    ...more.event,
  };
  handlers.get(event.button === 1 ? 'auxclick' : 'click')(event);
  return event.defaultPrevented;
}

const hear = (source, data = ASK, origin = ORIGIN) => handlers.get('message')({ source, origin, data });

beforeEach(() => {
  opened.length = 0;
  shareSession('/dashboard');
  auth.begin('r:1', { objectId: 'u1' }, false);
});

test('an opened tab gets the session once', () => {
  assert.ok(click('/dashboard/orders/x1'));
  const [{ url, tab: one }] = opened;
  assert.equal(url, `${ORIGIN}/dashboard/orders/x1`);
  hear(one, ASK, 'https://evil.example');
  hear(one, 'something else');
  assert.deepEqual(one.messages, []);
  hear(one);
  assert.deepEqual(one.messages, [[{ session: { token: 'r:1', user: { objectId: 'u1' } } }, ORIGIN]]);
  hear(one);
  assert.equal(one.messages.length, 1);
});

test('no other window gets it, and none after a while or after the end of the session', (context) => {
  const other = tab();
  click('/dashboard/orders', { event: { button: 1, ctrlKey: false } });
  hear(other);
  assert.deepEqual(other.messages, []);
  context.mock.timers.enable({ apis: ['Date'], now: Date.now() + 60_000 });
  hear(opened[0].tab);
  assert.deepEqual(opened[0].tab.messages, []);
  click('/dashboard/orders');
  auth.drop();
  hear(opened[1].tab);
  assert.deepEqual(opened[1].tab.messages, []);
});

test('other links and clicks are the browser’s', () => {
  assert.equal(click('https://evil.example/dashboard'), false);
  assert.equal(click('/dashboards'), false);
  assert.equal(click('/developers'), false);
  assert.equal(click('#content'), false);
  assert.equal(click('/dashboard', { link: { target: '_blank' } }), false);
  assert.equal(click('/dashboard', { event: { ctrlKey: false } }), false);
  assert.equal(click('/dashboard', { event: { button: 2 } }), false);
  assert.deepEqual(opened, []);
});

test('a tab takes the session of its opener alone, and keeps it in memory', async () => {
  auth.drop();
  assert.equal(await takeSession(), null);
  const opener = tab();
  globalThis.opener = opener;
  const taken = takeSession();
  assert.deepEqual(opener.messages, [[ASK, ORIGIN]]);
  const session = { token: 'r:2', user: { objectId: 'u2' } };
  hear(tab(), { session: { ...session, token: 'r:evil' } });
  hear(opener, { session: { ...session, token: 'r:evil' } }, 'https://evil.example');
  hear(opener, { session: { user: {} } });
  hear(opener, { session });
  assert.deepEqual(await taken, session);
  assert.deepEqual(auth.current, session);
  assert.equal(globalThis.opener, null);
  assert.equal(sessionStorage.items.size, 0);
});

test('an opener that does not respond leads to the sign-in', async (context) => {
  auth.drop();
  context.mock.timers.enable({ apis: ['setTimeout'] });
  globalThis.opener = tab();
  const taken = takeSession();
  context.mock.timers.tick(3000);
  assert.equal(await taken, null);
  assert.equal(auth.current, null);
});
