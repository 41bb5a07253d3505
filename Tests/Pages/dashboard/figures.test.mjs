// Statistics: time ranges and the ranges before them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load, loadView } from '../pages.mjs';

const { beside, DAYS_MAX, parameters, range, total } = await load('figures/range.js');
const { averages, COHORTS_MAX, hasOldOnes, limited, shade, shares } = await load('figures/cohorts.js');
const { floor, ofOpens, rate, rates, together } = await load('figures/crash-free.js');
const { cut, labelPlaces } = await load('elements/chart-labels.js');
const { scale, ticks } = await load('elements/chart-scale.js');

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

const DAY = 86400000;
const at = (text) => ({ __type: 'Date', iso: `${text}T00:00:00.000Z` });
const noon = Date.parse('2030-05-15T12:00Z');
const weeks = {
  interval: 'week',
  since: at('2030-04-24'),
  cohorts: [
    { at: at('2030-04-22'), size: 30, returned: [15, 6, 0] },
    { at: at('2030-04-29'), size: 10, returned: [1, 2] },
    { at: at('2030-05-06'), size: 0, returned: [0] },
    { at: at('2030-05-13'), size: 4, returned: [] },
  ],
};

test('a cohort has its shares, and those of the week that is under way are not final', () => {
  const rows = shares(weeks, noon);
  assert.deepEqual(
    rows.map(({ size }) => size),
    [30, 10, 4],
  );
  assert.deepEqual(
    rows.map(({ cells }) => cells.map(({ share }) => share)),
    [[0.5, 0.2, 0], [0.1, 0.2], []],
  );
  assert.deepEqual(
    rows.map(({ cells }) => cells.map(({ isOpen }) => isOpen)),
    [[false, false, true], [false, true], []],
  );
  const days = shares({ interval: 'day', cohorts: [{ at: at('2030-05-13'), size: 2, returned: [1, 1] }] }, noon);
  assert.deepEqual(
    days[0].cells.map(({ isOpen }) => isOpen),
    [false, true],
  );
});

test('averages weigh cohorts by their size and leave out what is not over', () => {
  const [first, second, third] = averages(shares(weeks, noon));
  assert.deepEqual(first, { size: 40, count: 16, share: 0.4 });
  assert.deepEqual(second, { size: 30, count: 6, share: 0.2 });
  assert.equal(third.share, null);
  assert.deepEqual(averages([]), []);
});

test('the first cohort of all has those who were there before', () => {
  assert.deepEqual(
    weeks.cohorts.map((cohort) => hasOldOnes(weeks, cohort)),
    [true, false, false, false],
  );
  assert.equal(hasOldOnes({ interval: 'week' }, weeks.cohorts[0]), false);
});

test('shades begin with the first who came back', () => {
  assert.deepEqual([0, 0.001, 0.05, 0.06, 0.2, 0.21, 0.4, 0.41, 1].map(shade), [0, 1, 1, 2, 3, 4, 4, 5, 5]);
});

test('no more cohorts are asked for than an answer has', () => {
  for (const [interval, length] of [
    ['day', DAY],
    ['week', 7 * DAY],
  ]) {
    const long = limited({ from: new Date(0), to: new Date(noon) }, interval);
    assert.ok((long.to - long.from) / length <= COHORTS_MAX - 2);
    const short = range({ days: '7' }, now);
    assert.equal(limited(short, interval).from.getTime(), short.from.getTime());
  }
});

test('a rate is rounded down and stays between none and all', () => {
  assert.equal(rate(0, 0), null);
  assert.equal(rate(250, 2), 9920);
  assert.equal(rate(1_000_000, 1), 9999);
  assert.equal(rate(1_000_000, 0), 10_000);
  assert.equal(rate(3, 1), 6666);
  // The end of a session may be reported without its beginning.
  assert.equal(rate(1, 2), 0);
  assert.equal(rate(1, -1), 10_000);
});

test('days without sessions have no rate, and all days together one by their size', () => {
  const points = [
    { at: at('2030-05-01'), sessions: 90, crashedSessions: 0, devices: 3, crashedDevices: 0 },
    { at: at('2030-05-02'), sessions: 0, crashedSessions: 0, devices: 0, crashedDevices: 0 },
    { at: at('2030-05-03'), sessions: 10, crashedSessions: 5, devices: 2, crashedDevices: 1 },
  ];
  assert.deepEqual(
    rates(points, 'sessions').map(({ value }) => value),
    [10_000, 5000],
  );
  assert.deepEqual(together(points, 'sessions'), { all: 100, crashed: 5, value: 9500 });
  assert.deepEqual(together(points, 'devices'), { all: 5, crashed: 1, value: 8000 });
  assert.equal(together([], 'sessions').value, null);
  assert.equal(floor(rates(points, 'sessions')), 4900);
  assert.equal(floor([{ value: 9999 }]), 9900);
  assert.equal(floor([{ value: 50 }]), 0);
  assert.equal(floor([]), 9900);
});

test('app opens stand in for sessions, less the crashes of the day', () => {
  const opens = [
    { at: at('2030-05-01'), value: 10 },
    { at: at('2030-05-02'), value: 2 },
    { at: at('2030-05-03'), value: 4 },
  ];
  const reports = [
    { at: at('2030-05-01'), reports: 5, crashes: 1 },
    { at: at('2030-05-02'), reports: 9, crashes: 9 },
  ];
  assert.deepEqual(
    rates(ofOpens(opens, reports), 'opens').map(({ value }) => value),
    [9000, 0, 10_000],
  );
});

test('an axis begins at zero, or where it is told to, and ends above the greatest value', () => {
  const edge = { top: 0, bottom: 0, start: 0, end: 0 };
  const sales = scale([{ value: 3, before: 9 }, { value: 7 }], 100, 100, edge);
  assert.deepEqual([sales.bottom, sales.top], [0, 10]);
  assert.equal(scale([{ value: -5 }], 100, 100, edge).bottom <= -5, true);
  for (const values of [[10_000], [10_000, 9995], [9950, 9999], [9900], [4321, 10_000], []]) {
    const points = values.map((value) => ({ value }));
    const axis = scale(points, 100, 100, edge, floor(points));
    assert.ok(axis.bottom < axis.top && axis.top <= 10_000, `${values}: ${axis.bottom} to ${axis.top}`);
    assert.ok(axis.bottom >= Math.min(9800, ...values) - axis.step, `${values}: ${axis.bottom}`);
    for (const { value } of points) assert.ok(axis.y(value) >= 0 && axis.y(value) <= 100, `${values}`);
  }
});

test('labels below a chart keep apart and stay within it', () => {
  for (const [count, each, width] of [
    [2, 71, 280],
    [30, 42, 290],
    [365, 42, 900],
    [7, 120, 290],
    [5, 20, 720],
    [3, 400, 290],
    [1, 50, 60],
    [0, 0, 290],
  ]) {
    const slot = (width - 68) / Math.max(1, count);
    const widths = Array.from({ length: count }, (_, index) => each + (index % 3));
    const all = labelPlaces(widths, { x: (index) => 56 + slot * (index + 0.5) }, width);
    const name = `${count} of ${each} in ${width}`;
    assert.equal(all.length > 0, count > 0, name);
    assert.equal(all.at(-1)?.index, count ? count - 1 : undefined, name);
    if (each < width)
      for (const { index, x } of all) assert.ok(x - widths[index] / 2 >= 0 && x + widths[index] / 2 <= width, name);
    for (const [at, { index, x }] of all.entries()) {
      if (at) assert.ok(x - widths[index] / 2 > all[at - 1].x + widths[all[at - 1].index] / 2, name);
    }
    const steps = new Set(all.slice(1).map(({ index }, at) => index - all[at].index));
    assert.ok(steps.size <= 1, name);
  }
  const two = labelPlaces([71, 71], { x: (index) => 109 + index * 106 }, 280);
  assert.deepEqual(
    two.map(({ index }) => index),
    [0, 1],
  );
});

test('a long label is cut, and an axis names each of its steps', () => {
  assert.equal(cut('shop@3.2.0'), 'shop@3.2.0');
  assert.equal(cut('0f9a3c7be1d24c55a6b8e2d47f901c3e'), '0f9a3c7be1d24c55a…');
  assert.deepEqual(ticks({ bottom: -20, top: 40, step: 20 }), [-20, 0, 20, 40]);
  assert.deepEqual(ticks({ bottom: 9900, top: 10_000, step: 50 }), [9900, 9950, 10_000]);
});

test('what sold ends with the others and the total of all', async () => {
  const { soldRows } = await loadView('analytics/sold.js');
  const sum = (netMinorUnits, pieces, more) => ({ netMinorUnits, pieces, ...more });
  const results = [sum(900, 3, { objectId: 'a', name: 'Soap' }), sum(500, 1, { objectId: '', name: '' })];
  const rows = soldRows({ results, others: sum(1200, 9, { count: 4 }), total: sum(2600, 13) });
  assert.deepEqual(
    rows.map(({ label, value, note, isSum }) => [label, value, note, isSum]),
    [
      ['Soap', 900, 3, false],
      ['order.nobody', 500, 1, false],
      ['analytics.others', 1200, 9, true],
      ['analytics.total', 2600, 13, true],
    ],
  );
  assert.equal(soldRows({ results, others: sum(0, 0, { count: 0 }), total: sum(1400, 4) }).length, 3);
  assert.deepEqual(soldRows({ results: [], others: sum(0, 0, { count: 0 }), total: sum(0, 0) }), []);
});
