// Figures: stretches of time and those before them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load } from './pages.mjs';

const { beside, DAYS_MAX, parameters, range, total } = await load('figures/range.js');

const now = Date.UTC(2030, 4, 2, 23, 30);
const iso = (stretch) => [stretch.from, stretch.to].map((at) => at.toISOString().slice(0, 16));

test('days end with today, as the server counts them', () => {
  const week = range({ days: '7' }, now);
  assert.deepEqual(iso(week), ['2030-04-26T00:00', '2030-05-03T00:00']);
  assert.deepEqual(iso(week.before), ['2030-04-19T00:00', '2030-04-26T00:00']);
  assert.equal(week.interval, 'day');
  assert.equal(range({ days: '1' }, now).interval, 'hour');
  assert.equal(range({}, now).days, 30);
});

test('a stretch that is named holds both its days', () => {
  const stretch = range({ from: '2030-01-30', to: '2030-02-02', days: '7' }, now);
  assert.deepEqual(iso(stretch), ['2030-01-30T00:00', '2030-02-03T00:00']);
  assert.equal(stretch.days, 4);
  assert.equal(stretch.preset, null);
  assert.deepEqual(parameters(stretch, 'day').to, { __type: 'Date', iso: '2030-02-03T00:00:00.000Z' });
});

test('what is no stretch is the usual one, and none is longer than the server draws', () => {
  for (const query of [
    { days: '12' },
    { from: '2030-02-02', to: '2030-01-30' },
    { from: 'x', to: 'y' },
    { from: '2030-01-01' },
    { days: '-1' },
  ]) {
    assert.equal(range(query, now).days, 30, JSON.stringify(query));
  }
  assert.equal(range({ from: '1999-01-01', to: '2029-01-01' }, now).days, DAYS_MAX);
  assert.ok(range({ from: '1970-01-01', to: '1970-01-31' }, now).before.from >= 0);
});

test('points stand beside those of the stretch before', () => {
  const points = [{ value: 1 }, { value: 2 }, { value: 3 }];
  assert.deepEqual(beside(points, [{ value: 9 }, { value: 8 }]), [
    { value: 1, before: 9 },
    { value: 2, before: 8 },
    { value: 3 },
  ]);
  assert.deepEqual(beside(points, null), points);
  assert.equal(total(points), 6);
});
