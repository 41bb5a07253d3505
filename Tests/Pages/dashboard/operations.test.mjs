// Operations: a log without losses or repetitions, rates from counters that restart, masks, backups, schedules and
// Config.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadView } from '../pages.mjs';

const { LogFeed } = await loadView('operations/log-feed.js');
const { between, History, percentile, SAMPLES_MAX } = await loadView('operations/rates.js');
const { maskedURL, merged } = await loadView('operations/settings-list.js');
const { backupState } = await loadView('operations/backup-age.js');
const { change } = await loadView('operations/config-change.js');
const { planOf } = await loadView('operations/job-plan.js');
const { pathOf, total } = await loadView('operations/parked.js');
const { charts, periods, pointsOf } = await loadView('operations/past.js');

/** A server that returns at most `size` lines per request, from the cursor on. */
function served(all, after, size) {
  const start = Number(after || 0);
  const entries = all.slice(start, start + size).map((message) => ({ message }));
  const end = start + entries.length;
  return { entries, next: String(end), isMore: end < all.length, isGap: false };
}

const shownIn = (feed) => feed.lines.map(({ message }) => message);

test('each line is shown once, whatever comes twice, late or not at all', () => {
  const feed = new LogFeed();
  const all = [];
  let last = null;
  for (let round = 0; round < 200; round += 1) {
    for (let more = (round * 7) % 13; more > 0; more -= 1) all.push(`line ${all.length}`);
    const asked = feed.cursor;
    const answer = served(all, asked, 5);
    // Every third answer is lost, so its request is repeated. Some answers arrive twice or out of order.
    if (round % 3 === 0) continue;
    feed.take(asked, answer);
    assert.equal(feed.take(asked, answer) === null, answer.next !== asked);
    if (last && last.asked !== feed.cursor) assert.equal(feed.take(last.asked, last.answer), null);
    last = { asked, answer };
  }
  while (feed.take(feed.cursor, served(all, feed.cursor, 5)).isMore);
  assert.deepEqual(shownIn(feed), all);
  assert.equal(new Set(feed.lines.map(({ id }) => id)).size, all.length);
});

test('a feed keeps the newest lines alone, and says how many of the page go', () => {
  const feed = new LogFeed(10);
  const page = [];
  for (const count of [4, 0, 8, 3, 25, 1]) {
    const entries = Array.from({ length: count }, (_, index) => ({ message: `${count}.${index}` }));
    const { added, removed } = feed.take(feed.cursor, { entries, next: `${count}`, isMore: false });
    page.splice(0, removed);
    page.push(...added);
    assert.deepEqual(page, feed.lines);
    assert.ok(page.length <= 10);
  }
  assert.equal(feed.lines.at(-1).message, '1.0');
});

test('what is missing is said where it is missing', () => {
  const feed = new LogFeed();
  feed.take('', { entries: [{ message: 'a' }], next: '1' });
  feed.take('1', { entries: [{ message: 'c' }], next: '2', isGap: true });
  assert.deepEqual(
    feed.lines.map(({ message, isGap }) => (isGap ? 'gap' : message)),
    ['a', 'gap', 'c'],
  );
});

const bounds = [1000, 2000, 4000];
const counters = (buckets, failed = 0, refused = 0) => ({ buckets, failed, refused });

test('rates are what came between two looks', () => {
  const now = between(counters([10, 0, 0, 0], 1), counters([10, 98, 0, 2], 3), bounds, 5);
  assert.equal(now.rate, 20);
  assert.equal(now.failed, 0.4);
  assert.equal(now.p50, 2);
  assert.equal(now.p99, 4);
  assert.equal(between(counters([1, 0, 0, 0]), counters([1, 0, 0, 0]), bounds, 5).p99, null);
});

test('a process that began anew has no rate below zero and loses nothing that it counted', () => {
  const anew = between(counters([500, 20, 0, 0], 9), counters([3, 1, 0, 0]), bounds, 2);
  assert.equal(anew.count, 4);
  assert.equal(anew.failed, 0);
  // Even if its new total is larger than the old one.
  assert.equal(between(counters([5, 5, 0, 0]), counters([2, 40, 0, 0]), bounds, 1).count, 42);
  assert.equal(between(undefined, counters([7, 0, 0, 0]), bounds, 1).count, 7);
  assert.equal(percentile([0, 0, 0, 5], bounds, 0.5), 4);
});

test('the history has the last minutes alone, and nothing of an answer that was overtaken', () => {
  const history = new History();
  const at = (seconds) => new Date(Date.UTC(2030, 0, 1) + seconds * 1000).toISOString();
  const answer = (seconds, count) => ({
    at: at(seconds),
    bounds,
    gateway: { answers: counters([count, 0, 0, 0]) },
    services: { catalog: { answers: counters([count * 2, 0, 0, 0]) }, cloud: { answers: null } },
  });
  for (let look = 0; look <= SAMPLES_MAX + 20; look += 1) history.add(answer(look * 5, look * 10));
  history.add(answer(10, 1));
  assert.equal(history.of('gateway').length, SAMPLES_MAX);
  assert.ok(history.of('gateway').every(({ rate }) => rate === 2));
  assert.ok(history.of('catalog').every(({ rate }) => rate === 4));
  assert.deepEqual(history.of('cloud'), []);
});

test('an address is shown without its secrets', () => {
  for (const [url, shown] of [
    ['https://hooks.example/a', 'https://hooks.example/a'],
    ['https://me:pass@hooks.example/a', 'https://••••••@hooks.example/a'],
    ['https://me:p%40ss@x@hooks.example/', 'https://••••••@hooks.example/'],
    ['https://x.example/?a=1&apiKey=k1&b=2', 'https://x.example/?a=1&apiKey=••••••&b=2'],
    ['https://x.example/?access_token=t#f', 'https://x.example/?access_token=••••••#f'],
    ['https://x.example/mail@x.example', 'https://x.example/mail@x.example'],
  ]) {
    assert.equal(maskedURL(url), shown);
  }
});

test('settings of many processes are one list that says where they differ', () => {
  const setting = (name, value, isDefault = true) => ({ name, value, isDefault, isSecret: false });
  const rows = merged([
    { service: 'gateway', settings: [setting('SATCHEL_PORT', '1337'), setting('SATCHEL_LANES', '2')] },
    { service: 'bag', settings: [setting('SATCHEL_LANES', '4', false)] },
    { service: 'mail', settings: [setting('SATCHEL_LANES', '2')] },
    { service: 'push' },
  ]);
  assert.deepEqual(
    rows.map(({ name, value, processes, differs }) => [name, value, processes.join(), differs]),
    [
      ['SATCHEL_LANES', '2', 'gateway,mail', true],
      ['SATCHEL_LANES', '4', 'bag', true],
      ['SATCHEL_PORT', '1337', 'gateway', false],
    ],
  );
});

test('a backup past a day, none, and one whose time nobody can read are told', () => {
  const now = '2030-01-02T12:00:00.000Z';
  const of = (at, verified = true) => backupState([{ at, verified }], now);
  assert.deepEqual([of('2030-01-01T12:00:00Z').isOld, of('2030-01-01T11:59:59Z').isOld], [false, true]);
  assert.equal(backupState([], now).isOld, true);
  assert.equal(of('yesterday').isOld, true);
  assert.equal(of(now, false).isBad, true);
});

test('a parameter that somebody else changed meanwhile is left alone', () => {
  const seen = { name: 'a', value: { b: [1] }, isHidden: false };
  const wanted = { name: 'a', value: 2, isHidden: true };
  assert.deepEqual(change(seen, wanted, structuredClone(seen)), { params: { a: 2 }, masterKeyOnly: { a: true } });
  assert.deepEqual(change(null, wanted, undefined), { params: { a: 2 }, masterKeyOnly: { a: true } });
  assert.deepEqual(change(seen, null, seen), { params: { a: { __op: 'Delete' } } });
  for (const now of [undefined, { ...seen, value: 3 }, { ...seen, isHidden: true }])
    assert.equal(change(seen, wanted, now), null);
  assert.equal(change(null, wanted, seen), null);
});

test('a plan is what the form says, or a word about what is wrong', () => {
  const form = { jobName: 'sweep', description: ' ', startAfter: '', repeat: 'once', value: '', parameters: '{"a":1}' };
  const plan = planOf(form);
  assert.equal(plan.params, '{"a":1}');
  assert.equal(plan.description, undefined);
  assert.equal(planOf({ ...form, repeat: 'minutes', value: '30' }).repeatMinutes, 30);
  assert.equal(planOf({ ...form, repeat: 'daily', value: '04:30' }).timeOfDay, '04:30');
  assert.equal(planOf({ ...form, repeat: 'cron', value: '0 4 * * mon' }).cron, '0 4 * * mon');
  for (const wrong of [
    { repeat: 'minutes', value: '0' },
    { repeat: 'daily', value: '25:00' },
    { repeat: 'cron', value: '* *' },
    { startAfter: 'soon' },
    { parameters: '[1]' },
    { parameters: '{' },
  ]) {
    assert.throws(() => planOf({ ...form, ...wrong }), Error, JSON.stringify(wrong));
  }
});

test('parked work is counted over all services and leads to the view that shows it', () => {
  assert.equal(total({ mail: { mail: 2, message: 0 }, bag: { refund: 1, message: 3 }, crash: {} }), 6);
  assert.equal(total({}), 0);
  const all = () => true;
  assert.equal(pathOf({ kind: 'mail', id: '7' }, all), '/mails/7');
  assert.equal(pathOf({ kind: 'push', id: 'a:b' }, all), '/pushes');
  assert.equal(pathOf({ kind: 'refund', id: 'rf', orderId: 'o1' }, all), '/orders/o1');
  assert.equal(pathOf({ kind: 'message', id: '1' }, all), null);
  assert.equal(
    pathOf({ kind: 'mail', id: '7' }, (entry) => entry !== 'mails'),
    null,
  );
});

test('the past has a point for each step, and each chart a value', () => {
  const minute = (at, more) => ({
    at,
    requests: 120,
    refused: 4,
    failed: 1,
    p50: 2.5,
    p99: null,
    waiting: 3,
    outbox: 2,
    outboxAge: 9,
    memory: 250e6,
    live: 5,
    mailsFailed: 0,
    pushesFailed: 0,
    paymentsFailed: 0,
    ...more,
  });
  const answer = {
    step: 60,
    points: [minute('2030-01-01T10:00:00.000Z'), minute('2030-01-01T10:03:00.000Z', { requests: 6, failed: 7 })],
  };
  const values = (name, from = answer) =>
    pointsOf(
      charts.find((chart) => chart.name === name),
      from,
    ).map(({ value }) => value);
  assert.deepEqual(values('rate'), [2, 0, 0, 0.1]);
  assert.deepEqual(values('past.failed'), [1, 0, 0, 7]);
  assert.deepEqual(values('p99'), [0, 0, 0, 0]);
  assert.deepEqual(values('memory'), [250, 0, 0, 250]);
  for (const { name } of charts) assert.ok(values(name).every(Number.isFinite), name);
  const [first, second] = pointsOf(charts[0], answer);
  assert.equal(second.at - first.at, 60_000);
  assert.deepEqual(pointsOf(charts[0], { step: 60, points: [] }), []);
  const hours = { step: 3600, points: [minute('2030-01-01T10:00:00.000Z'), minute('2030-01-01T12:00:00.000Z')] };
  assert.equal(values('waiting', hours).join(), '3,0,3');
  assert.deepEqual(
    periods.map(({ query }) => new URLSearchParams(query).toString()),
    ['hours=24', 'days=30'],
  );
});
