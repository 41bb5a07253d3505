// To whom a promotion goes: the form and what is kept are the same, and what cannot be meant is said.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadView } from './pages.mjs';

const { audienceWords, readAudience, writeAudience } = await loadView('audience.js');

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
