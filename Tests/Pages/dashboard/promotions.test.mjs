// The audience of a promotion: the form and the stored value match, and invalid audiences get an error. And the results
// of a promotion: no number is shown where none exists.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import '../elements.mjs';
import { load, loadView } from '../pages.mjs';

const { audienceWords, readAudience, writeAudience } = await loadView('promotions/audience.js');
const { failures, followed } = await loadView('promotions/figures.js');
const { promotionForm } = await loadView('promotions/form.js');
const { problemLine } = await load('problems.js');

test('an audience is the same after it was in the form', () => {
  for (const audience of [
    null,
    { channels: ['news', 'sale_2'] },
    { where: { deviceType: 'ios' } },
    { where: { deviceType: 'android', localeIdentifier: { $regex: '^de' }, appVersion: '2.1' } },
    { where: { deviceType: 'win', localeIdentifier: 'de-CH', appVersion: { $gte: '2' } } },
    { where: { $or: [{ badge: 1 }, { user: { $exists: true } }], deviceType: 'ios' } },
    { where: { localeIdentifier: { $regex: '^de', $options: 'i' } } },
  ]) {
    assert.deepEqual(writeAudience(readAudience(audience)), audience);
  }
  assert.equal(readAudience('all').kind, 'all');
});

test('nobody is meant to be everybody by mistake', () => {
  const form = { kind: 'some', channels: '', platform: '', language: '', version: '', more: '' };
  const told = (values) => {
    try {
      return writeAudience({ ...form, ...values });
    } catch (error) {
      return error.key;
    }
  };
  assert.equal(told({}), 'audience.noCondition');
  assert.equal(told({ more: '{}' }), 'audience.noCondition');
  for (const more of ['[]', 'null', '1', '{', '"x"']) assert.equal(told({ more }), 'audience.badJSON', more);
  assert.equal(told({ language: 'german' }), 'audience.badLanguage');
  assert.equal(told({ kind: 'channels', channels: ' , ' }), 'audience.noChannel');
  assert.equal(told({ kind: 'channels', channels: 'good, 2bad' }), 'audience.badChannel');
  assert.deepEqual(told({ kind: 'channels', channels: 'b; a b' }), { channels: ['b', 'a'] });
});

test('an audience in words', () => {
  assert.deepEqual(audienceWords(undefined), { key: 'audience.all', values: {} });
  assert.deepEqual(audienceWords({ channels: 'news' }), { key: 'audience.channelsWords', values: { words: 'news' } });
  const { values } = audienceWords({ where: { deviceType: 'ios', localeIdentifier: { $regex: '^de' } } });
  assert.equal(values.words, 'ios · de');
});

test('orders that followed, with the currency of the shop first', () => {
  const line = (currency, orders, cancelled = 0) => ({
    currency,
    orders,
    cancelled,
    grossMinorUnits: 700 * orders,
    refundedMinorUnits: 700 * cancelled,
    netMinorUnits: 700 * (orders - cancelled),
  });
  const sales = [line('chf', 1, 1), line('jpy', 2), line('usd', 3, 1)];
  const told = followed({ orders: 6, sales }, 'usd');
  assert.equal(told.orders, 6);
  assert.equal(told.cancelled, 2);
  assert.deepEqual(
    told.sales.map(({ currency, netMinorUnits }) => [currency, netMinorUnits]),
    [
      ['usd', 1400],
      ['chf', 0],
      ['jpy', 1400],
    ],
  );
  assert.equal(sales[0].currency, 'chf', 'The answer is as it came.');
});

test('no order is an amount of nothing, and figures that nobody has are none', () => {
  const none = followed({ orders: 0, sales: [] }, 'eur');
  assert.equal(none.orders, 0);
  assert.deepEqual(
    none.sales.map(({ currency, netMinorUnits, refundedMinorUnits }) => [currency, netMinorUnits, refundedMinorUnits]),
    [['eur', 0, 0]],
  );
  for (const report of [{}, { opened: 3 }, { orders: null, sales: null }, { orders: 2 }]) {
    assert.equal(followed(report), null, JSON.stringify(report));
  }
});

test('reasons have words where there are some, else the code that the provider said', () => {
  const rows = failures({
    failures: [
      { reason: 'Unregistered', count: 5 },
      { reason: 'Status418', count: 2 },
      { reason: 'constructor', count: 1 },
      { reason: '(other)', count: 9 },
    ],
  });
  assert.deepEqual(rows, [
    { id: 'Unregistered', key: 'push.failure.Unregistered', code: 'Unregistered', count: 5 },
    { id: 'Status418', key: null, code: 'Status418', count: 2 },
    { id: 'constructor', key: null, code: 'constructor', count: 1 },
    { id: '(other)', key: 'push.failure.others', code: '', count: 9 },
  ]);
  assert.deepEqual(failures({}), []);
});

test('times that were not changed keep their seconds', async () => {
  const at = (iso) => ({ __type: 'Date', iso });
  const promotion = {
    content: 'Hello',
    schedule: at('2030-05-01T08:00:30.000Z'),
    shownFrom: at('2030-05-01T10:00:30.500Z'),
    shownUntil: at('2030-05-02T10:00:45.000Z'),
  };
  globalThis.fetch = async () => Response.json({ results: [] });
  const { signal } = new AbortController();
  let form, read;
  const save = Object.assign(
    (...given) => {
      [form, read] = given;
    },
    { problem: problemLine() },
  );
  promotionForm(promotion, save, { router: { href: (path) => path }, signal });
  const times = async () => {
    const { schedule, shownFrom, shownUntil } = await read();
    return [schedule, shownFrom, shownUntil].map(({ iso }) => iso);
  };
  assert.deepEqual(await times(), [promotion.schedule.iso, promotion.shownFrom.iso, promotion.shownUntil.iso]);
  form.elements.schedule.value = '2030-05-01T08:01';
  assert.equal((await times())[0], '2030-05-01T08:01:00.000Z');
});
