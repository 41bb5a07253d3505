// The pages' requests: which are retried, and the effects on a session.
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { load, Storage } from './pages.mjs';

globalThis.sessionStorage = new Storage();
const { ask, auth, call, containing, newKey, run } = await load('api.js');

let answers = [];
let asked = [];
globalThis.fetch = async (url, options) => {
  asked.push({ url, ...options });
  const answer = answers.shift();
  if (answer instanceof Error) throw answer;
  const [status, body, headers] = answer;
  return new Response(JSON.stringify(body), { status, headers });
};

beforeEach(() => {
  answers = [];
  asked = [];
  auth.drop();
  auth.onExpired(null);
});

test('a read is asked again when the failure may pass', async () => {
  answers = [new TypeError('offline'), [503, { code: 2, error: 'away' }], [200, { results: [1] }]];
  assert.deepEqual(await call('GET', '/classes/Product'), { results: [1] });
  assert.equal(asked.length, 3);
  answers = [
    [503, { code: 2, error: 'away' }],
    [200, { result: 7 }],
  ];
  assert.equal(await ask('analyticsSales'), 7);
});

test('a change is never asked again', async () => {
  answers = [
    [503, { code: 2, error: 'away' }],
    [200, { result: 7 }],
  ];
  await assert.rejects(run('refundOrder', {}), { code: 2 });
  assert.equal(asked.length, 1);
});

test('a change with a key is asked again under its key', async () => {
  answers = [new TypeError('offline'), [503, { code: 2, error: 'away' }], [200, { result: 7 }], [200, { result: 8 }]];
  assert.equal(await run('refundOrder', {}, newKey()), 7);
  const keys = asked.map(({ headers }) => headers['Idempotency-Key']);
  assert.match(keys[0], /^[0-9a-f-]{32,36}$/);
  assert.deepEqual(keys, [keys[0], keys[0], keys[0]]);
  await run('refundOrder', {}, newKey());
  assert.notEqual(asked[3].headers['Idempotency-Key'], keys[0]);
});

test('a refusal that will not pass is told at once', async () => {
  answers = [[404, { code: 101, error: 'Object not found.' }]];
  await assert.rejects(call('GET', '/classes/Order/x'), { code: 101 });
  assert.equal(asked.length, 1);
});

test('a session that ended is told once and forgotten everywhere', async () => {
  const ends = [];
  auth.onEnd((expired) => ends.push(expired));
  auth.begin('r:1', { name: 'Ann' }, true);
  assert.equal(JSON.parse(sessionStorage.getItem('satchel.session')).token, 'r:1');
  answers = [
    [400, { code: 209, error: 'Invalid session token' }],
    [400, { code: 209, error: 'Invalid session token' }],
  ];
  const calls = [call('GET', '/a'), call('GET', '/b')];
  for (const one of calls) await assert.rejects(one, { code: 209 });
  assert.deepEqual(ends, [true]);
  assert.equal(auth.current, null);
  assert.equal(sessionStorage.getItem('satchel.session'), null);
  assert.equal(asked[0].headers['X-Parse-Session-Token'], 'r:1');
});

/** A dialog that asks to sign in again, answered by `enter`. */
function askedAgain() {
  const dialog = { opened: 0 };
  auth.onExpired(
    (user, isKept) =>
      new Promise((resolve) => {
        dialog.opened += 1;
        Object.assign(dialog, { user, isKept });
        dialog.enter = (token, objectId) => {
          if (token) auth.begin(token, { objectId }, false);
          resolve();
        };
      }),
  );
  return dialog;
}
const over = () => [400, { code: 209, error: 'Invalid session token' }];
const turn = () => new Promise((resolve) => setImmediate(resolve));

test('requests refused with an ended session are sent again after the sign-in', async () => {
  const ends = [];
  auth.onEnd((expired) => ends.push(expired));
  const dialog = askedAgain();
  auth.begin('r:1', { objectId: 'ann' }, true);
  answers = [over(), over()];
  const change = call('PUT', '/classes/Product/a', { body: { name: 'Oil' } });
  const read = call('GET', '/classes/Product');
  await turn();
  // A request that begins meanwhile waits, too; the sign-in does not.
  const later = call('GET', '/later');
  answers = [[200, { sessionToken: 'r:2' }]];
  assert.equal((await call('POST', '/login', { body: {} })).sessionToken, 'r:2');
  assert.deepEqual([dialog.opened, dialog.user.objectId, dialog.isKept, asked.length], [1, 'ann', true, 3]);
  assert.equal(sessionStorage.getItem('satchel.session'), null);
  answers = [
    [200, { of: 1 }],
    [200, { of: 2 }],
    [200, { of: 3 }],
  ];
  dialog.enter('r:2', 'ann');
  assert.deepEqual((await Promise.all([change, read, later])).map(({ of }) => of).sort(), [1, 2, 3]);
  const again = asked.slice(3);
  assert.ok(again.every(({ headers }) => headers['X-Parse-Session-Token'] === 'r:2'));
  assert.equal(again.find(({ method }) => method === 'PUT').body, '{"name":"Oil"}');
  assert.deepEqual([dialog.opened, ends], [1, []]);
});

test('another operator does not send the requests of the first one', async () => {
  const dialog = askedAgain();
  auth.begin('r:1', { objectId: 'ann' }, false);
  answers = [over()];
  const change = call('PUT', '/classes/Product/a', { body: {} });
  await turn();
  dialog.enter('r:3', 'bob');
  await assert.rejects(change, { name: 'AbortError' });
  assert.equal(asked.length, 1);
});

test('who signs out instead sends nothing more', async () => {
  const dialog = askedAgain();
  auth.begin('r:1', { objectId: 'ann' }, false);
  answers = [over()];
  const read = call('GET', '/classes/Product');
  await turn();
  const later = call('GET', '/later');
  dialog.enter(null);
  await assert.rejects(read, { name: 'AbortError' });
  await assert.rejects(later, { name: 'AbortError' });
  assert.equal(asked.length, 1);
});

test('a late answer to the old session opens no second dialog', async () => {
  const dialog = askedAgain();
  auth.begin('r:1', { objectId: 'ann' }, false);
  const old = auth.current;
  const renewed = auth.recover(old);
  dialog.enter('r:2', 'ann');
  assert.equal(await renewed, true);
  assert.equal(await auth.recover(old), true);
  assert.equal(dialog.opened, 1);
});

test('nothing is tried again without a connection', async () => {
  navigator.onLine = false;
  answers = [new TypeError('offline')];
  await assert.rejects(call('GET', '/classes/Product'), { code: 100 });
  assert.equal(asked.length, 1);
  navigator.onLine = true;
});

test('a session is in memory alone unless somebody wants it kept', () => {
  auth.begin('r:2', {}, false);
  assert.equal(sessionStorage.getItem('satchel.session'), null);
});

test('who leaves a view takes its requests along', async () => {
  const leaving = new AbortController();
  answers = [new TypeError('aborted')];
  leaving.abort(new Error('left'));
  await assert.rejects(call('GET', '/classes/Product', { signal: leaving.signal }), /left/);
  assert.equal(asked.length, 1);
});

test('a request that is over leaves neither a timer nor a listener', async () => {
  const view = new AbortController();
  const listeners = new Set();
  view.signal.addEventListener = (_name, listener) => listeners.add(listener);
  view.signal.removeEventListener = (_name, listener) => listeners.delete(listener);
  const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
  const before = timers();
  answers = [[200, { results: [] }], new TypeError('offline'), [200, { results: [] }]];
  await call('GET', '/classes/Product', { signal: view.signal });
  assert.equal(listeners.size, 0);
  assert.equal(timers(), before);
  await assert.rejects(call('POST', '/classes/Product', { body: {}, signal: view.signal }), { code: 100 });
  assert.equal(listeners.size, 0);
  assert.equal(timers(), before);
});

test('who leaves a view ends a request that is under way', async () => {
  const view = new AbortController();
  const known = globalThis.fetch;
  globalThis.fetch = (_url, { signal }) =>
    new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
  try {
    const asking = call('GET', '/classes/Product', { signal: view.signal });
    view.abort(new Error('left'));
    await assert.rejects(asking, /left/);
  } finally {
    globalThis.fetch = known;
  }
});

test('what is looked for is no pattern', () => {
  const { $regex } = containing('a.b*(c)[d]\\e');
  assert.ok(new RegExp($regex).test('xa.b*(c)[d]\\ey'));
  assert.ok(!new RegExp($regex).test('aXb'));
});
