// Changes by other clients: one connection that reconnects automatically, throttled work, and how views apply events.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load, loadView, Storage } from './pages.mjs';

globalThis.sessionStorage = new Storage();
const { LiveConnection } = await load('live/connection.js');
const { paced } = await load('live/paced.js');

/** A manually advanced clock. */
function handClock() {
  let now = 0;
  let timers = [];
  return {
    performance: { now: () => now },
    now: () => now,
    setTimeout(run, after) {
      const timer = { run, at: now + after };
      timers.push(timer);
      return timer;
    },
    clearTimeout(timer) {
      timers = timers.filter((other) => other !== timer);
    },
    waits: () => timers.map(({ at }) => at - now),
    async pass(milliseconds) {
      const end = now + milliseconds;
      for (;;) {
        const next = timers.filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0];
        if (!next) break;
        now = next.at;
        this.clearTimeout(next);
        next.run();
        await new Promise((resolve) => setImmediate(resolve));
      }
      now = end;
    },
  };
}

/** The server side of each connection. */
function server() {
  const clock = handClock();
  const sockets = [];
  const states = [];
  let sessions = 0;
  const open = () => {
    const socket = {
      readyState: 0,
      sent: [],
      send: (text) => socket.sent.push(JSON.parse(text)),
      close() {
        assert.equal(socket.readyState, 1, 'A browser calls that an error.');
        socket.readyState = 3;
        socket.onclose({ code: 1005 });
      },
      takes() {
        socket.readyState = 1;
        socket.onopen();
        socket.tell({ op: 'connected' });
      },
      tell: (message) => socket.onmessage({ data: JSON.stringify(message) }),
      breaks(code = 1006) {
        socket.readyState = 3;
        socket.onclose({ code });
      },
      ops: () => socket.sent.map(({ op }) => op),
    };
    sockets.push(socket);
    return socket;
  };
  const hello = () => ({ applicationId: 'a', sessionToken: 'r:1' });
  const connection = new LiveConnection(open, hello, { clock, random: () => 0.5 });
  connection.onstate = (isLive) => states.push(isLive);
  connection.onsession = () => {
    sessions += 1;
  };
  return { clock, sockets, states, connection, sessions: () => sessions };
}

const query = { className: 'Order', where: {}, keys: ['objectId'] };

function view(connection) {
  const leaving = new AbortController();
  const told = [];
  connection.listen(query, ({ kind }) => told.push(kind), leaving.signal);
  return { told, leave: () => leaving.abort() };
}

test('all views share a connection, which goes a while after the last one', async () => {
  const { clock, sockets, connection, states } = server();
  const one = view(connection);
  const other = view(connection);
  assert.equal(sockets.length, 1);
  const [socket] = sockets;
  socket.takes();
  assert.deepEqual(socket.sent[0], { op: 'connect', applicationId: 'a', sessionToken: 'r:1' });
  assert.deepEqual(socket.ops(), ['connect', 'subscribe', 'subscribe']);
  assert.deepEqual(socket.sent[1].query, query);
  assert.deepEqual(states, []);
  socket.tell({ op: 'subscribed', requestId: 1, cursor: 'f-1' });
  assert.deepEqual(states, [true]);
  socket.tell({ op: 'create', requestId: 1, cursor: 'f-2', object: {} });
  assert.deepEqual(one.told, ['unsure', 'create']);
  assert.deepEqual(other.told, []);
  one.leave();
  assert.deepEqual(socket.sent.at(-1), { op: 'unsubscribe', requestId: 1 });
  socket.tell({ op: 'create', requestId: 1, cursor: 'f-3', object: {} });
  assert.equal(one.told.length, 2);
  other.leave();
  assert.equal(socket.readyState, 1);
  await clock.pass(10000);
  const third = view(connection);
  await clock.pass(60000);
  assert.equal(socket.readyState, 1);
  third.leave();
  await clock.pass(60000);
  assert.equal(socket.readyState, 3);
  assert.equal(sockets.length, 1);
});

test('after a break it goes on where it was, with growing pauses', async () => {
  const { clock, sockets, connection, states } = server();
  const { told } = view(connection);
  sockets[0].takes();
  sockets[0].tell({ op: 'subscribed', requestId: 1, cursor: 'f-1' });
  sockets[0].tell({ op: 'update', requestId: 1, cursor: 'f-7', object: {} });
  sockets[0].breaks();
  assert.deepEqual(states, [true, false]);
  const pauses = [];
  for (let turn = 1; turn <= 8; turn += 1) {
    const [wait] = clock.waits();
    pauses.push(wait);
    await clock.pass(wait);
    sockets[turn].breaks();
  }
  assert.deepEqual(pauses, [1000, 2000, 4000, 8000, 16000, 32000, 60000, 60000]);
  await clock.pass(60000);
  sockets[9].takes();
  assert.equal(sockets[9].sent[1].cursor, 'f-7');
  sockets[9].tell({ op: 'subscribed', requestId: 1, cursor: 'f-7' });
  assert.deepEqual(told, ['unsure', 'update']);
  await clock.pass(40000);
  // After a connection that lasted, the first pause is used again, and missed events are reported.
  sockets[9].breaks();
  assert.deepEqual(clock.waits(), [1000]);
  await clock.pass(1000);
  sockets[10].takes();
  sockets[10].tell({ op: 'subscribed', requestId: 1, cursor: 'g-1', missed: true });
  assert.deepEqual(told, ['unsure', 'update', 'unsure']);
});

test('where no connection ever comes to be, it is given up', async () => {
  const { clock, sockets, connection } = server();
  view(connection);
  for (let turn = 0; turn < 3; turn += 1) {
    sockets[turn].breaks();
    await clock.pass(100000);
  }
  view(connection);
  assert.equal(sockets.length, 3);
  assert.deepEqual(clock.waits(), []);
});

test('a query that is refused is silent, and others go on', () => {
  const { sockets, connection, states } = server();
  const [refused, taken] = [view(connection), view(connection)];
  sockets[0].takes();
  sockets[0].tell({ op: 'error', code: 119, error: 'no', reconnect: false, requestId: 1 });
  assert.deepEqual(states, []);
  sockets[0].tell({ op: 'subscribed', requestId: 2, cursor: 'f-1' });
  assert.deepEqual([refused.told, taken.told, states], [[], ['unsure'], [true]]);
  // Cloud code withheld one event.
  sockets[0].tell({ op: 'error', code: 141, error: 'no', reconnect: false, requestId: 2 });
  assert.deepEqual(states, [true]);
  sockets[0].tell({ op: 'error', code: 154, error: 'too long', reconnect: false, requestId: 2 });
  assert.deepEqual(states, [true, false]);
});

for (const end of [
  { op: 'error', code: 209, error: 'over', reconnect: false, requestId: 1 },
  // The answer of the server to a log-out elsewhere.
  { op: 'unsubscribed', requestId: 1 },
])
  test(`a session that is over (${end.op}) pauses all; the next one goes on`, () => {
    const { clock, sockets, connection, states, sessions } = server();
    view(connection);
    sockets[0].takes();
    sockets[0].tell({ op: 'subscribed', requestId: 1, cursor: 'f-1' });
    sockets[0].tell(end);
    assert.equal(sockets[0].readyState, 3);
    assert.equal(sessions(), 1);
    assert.deepEqual(states, [true, false]);
    assert.deepEqual(clock.waits(), []);
    view(connection);
    assert.equal(sockets.length, 1);
    connection.resume();
    sockets[1].takes();
    assert.deepEqual(sockets[1].ops(), ['connect', 'subscribe', 'subscribe']);
  });

test('keys that are wrong are not tried again', async () => {
  const { clock, sockets, connection } = server();
  view(connection);
  sockets[0].readyState = 1;
  sockets[0].onopen();
  sockets[0].tell({ op: 'error', code: 4, error: 'wrong', reconnect: false, requestId: null });
  sockets[0].breaks(1008);
  await clock.pass(100000);
  assert.equal(sockets.length, 1);
});

test('a tab that nobody looks at gives its connection back and comes to it again', () => {
  const { sockets, connection } = server();
  const { told } = view(connection);
  sockets[0].takes();
  sockets[0].tell({ op: 'subscribed', requestId: 1, cursor: 'f-1' });
  connection.pause();
  assert.equal(sockets[0].readyState, 3);
  view(connection);
  assert.equal(sockets.length, 1);
  connection.resume();
  sockets[1].takes();
  assert.deepEqual(
    sockets[1].sent.map(({ cursor }) => cursor),
    [undefined, 'f-1', undefined],
  );
  assert.deepEqual(told, ['unsure']);
});

test('one that is not wanted any more is closed when it is there', () => {
  const { sockets, connection } = server();
  const { leave } = view(connection);
  leave();
  connection.end();
  sockets[0].readyState = 1;
  sockets[0].onopen();
  assert.equal(sockets[0].readyState, 3);
  assert.deepEqual(sockets[0].sent, []);
});

test('many events are one look, once a second, and none while a change of one’s own is under way', async () => {
  const clock = handClock();
  const leaving = new AbortController();
  let isBusy = false;
  let looks = 0;
  const work = async () => {
    looks += 1;
  };
  const look = paced(work, leaving.signal, { clock, isBusy: () => isBusy });
  for (let event = 0; event < 50; event += 1) look();
  await clock.pass(500);
  assert.equal(looks, 1);
  look();
  await clock.pass(400);
  assert.equal(looks, 1);
  await clock.pass(300);
  assert.equal(looks, 2);
  isBusy = true;
  look();
  await clock.pass(5000);
  assert.equal(looks, 2);
  isBusy = false;
  await clock.pass(1000);
  assert.equal(looks, 3);
  look();
  leaving.abort();
  await clock.pass(5000);
  assert.equal(looks, 3);
});

test('a look that the server refused is left to the next one, a mistake of ours is not hidden', async () => {
  const { APIError } = await load('api.js');
  const clock = handClock();
  const { signal } = new AbortController();
  let looks = 0;
  const look = paced(
    async () => {
      looks += 1;
      throw new APIError(100, 'away');
    },
    signal,
    { clock },
  );
  look();
  await clock.pass(2000);
  look();
  await clock.pass(2000);
  assert.equal(looks, 2);
});

test('a row that this tab changed during the request is asked for again', async () => {
  const { auth } = await load('api.js');
  const { Collection } = await load('store.js');
  const query = document.querySelector;
  const sockets = [];
  const asked = [];
  Object.assign(globalThis, {
    location: new URL('https://shop.example/dashboard'),
    WebSocket: class {
      constructor() {
        sockets.push(this);
      }
      send() {}
      close() {}
    },
    fetch: () => new Promise((answer) => asked.push((row) => answer(Response.json({ results: [row] })))),
  });
  document.querySelector = (selector) => (selector.includes('"satchel-live"') ? { content: 'true' } : query(selector));
  const { followProducts } = await loadView('live/products.js');
  auth.begin('r:1', { objectId: 'u' }, false);
  const leaving = new AbortController();
  const products = new Collection();
  const rows = products.put([{ objectId: 'a', stock: 3, updatedAt: 1 }]);
  followProducts(products, { rows, querySelectorAll: () => [], renew() {} }, leaving.signal);
  const tell = (message) => sockets[0].onmessage({ data: JSON.stringify(message) });
  const until = async (isThere) => {
    while (!isThere()) await new Promise((resolve) => setTimeout(resolve, 5));
  };
  sockets[0].onopen();
  tell({ op: 'connected' });
  tell({ op: 'update', requestId: 1, cursor: 'f-1', object: { objectId: 'a', updatedAt: 2 } });
  await until(() => asked.length === 1);
  await products.change('a', { stock: 7 }, async () => ({ updatedAt: 3 }));
  asked[0]({ objectId: 'a', stock: 4, updatedAt: 2 });
  await until(() => asked.length === 2 || products.get('a').stock !== 7);
  assert.equal(products.get('a').stock, 7);
  asked[1]({ objectId: 'a', stock: 6, updatedAt: 4 });
  await until(() => products.get('a').updatedAt === 4);
  assert.equal(products.get('a').stock, 6);
  leaving.abort();
  document.querySelector = query;
  auth.drop();
});

test('a list knows which rows are new, which are other, and which stay although they left', async () => {
  globalThis.HTMLElement = class {};
  globalThis.customElements = { define() {} };
  const { compared } = await loadView('live/list.js');
  const row = (objectId, updatedAt, more) => ({ objectId, updatedAt, ...more });
  const shown = [row('b', 1), row('a', 1, { items: [7], orderState: 'made' })];
  assert.deepEqual(compared(shown, shown), { isSame: true, added: [], renewed: [] });
  const told = new Map([['a', { objectId: 'a', updatedAt: 2, orderState: 'shipped' }]]);
  assert.deepEqual(compared(shown, [row('c', 3), row('b', 2)], told), {
    isSame: false,
    added: [row('c', 3)],
    renewed: [row('b', 2), row('a', 2, { items: [7], orderState: 'shipped' })],
  });
});

test('a form follows its product, and keeps what somebody typed', async () => {
  const { followed } = await loadView('live/product.js');
  const { valuesOf } = await loadView('products/form.js');
  const before = { name: 'Soap', unitPrice: 3.5, stock: 9, detail: 'a', updatedAt: 1 };
  const typed = { ...valuesOf(before), name: 'Bar of soap', stock: '20' };
  const now = { ...before, stock: 8, detail: 'b', unitPrice: 4, updatedAt: 2 };
  assert.deepEqual(followed(before, now, typed, valuesOf), {
    // The known stock remains, so that saving 20 is refused until the operator has seen the 8.
    product: { ...now, stock: 9 },
    values: { price: '4.00', detail: 'b' },
    conflicts: ['stock'],
  });
  assert.deepEqual(followed(before, { ...before, updatedAt: 2 }, typed, valuesOf).conflicts, []);
});

test('of rows that changed, one’s own are not counted', async () => {
  const { byOthers } = await loadView('live/rows.js');
  const known = [
    { objectId: 'mine', updatedAt: 2 },
    { objectId: 'other', updatedAt: 1 },
  ];
  const events = ['mine', 'other', 'deep', 'gone', 'dropped'].map((objectId) => [
    objectId,
    { kind: ['gone', 'dropped'].includes(objectId) ? 'delete' : 'update', object: { objectId, updatedAt: 2 } },
  ]);
  assert.deepEqual(byOthers(new Map(events), known, new Set(['dropped'])), ['other', 'deep', 'gone']);
});
