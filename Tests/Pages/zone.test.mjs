// Days and times in the shop's zone, in a browser of another one.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load } from './pages.mjs';

process.env.TZ = 'Pacific/Auckland';
const { server } = await load('settings.js');
const { dayNumber, dayText, fromLocal, hourOf, localText, startOfDay } = await load('zone.js');
const { dateTime, day, longDay } = await load('format.js');
const { range } = await load('figures/range.js');

const at = (text) => new Date(text);
const hours = (day, zone) => {
  server.timeZone = zone;
  return (startOfDay(dayNumber(day) + 1) - startOfDay(dayNumber(day))) / 3600e3;
};

test('a day has 23 hours in spring and 25 in autumn, where the clocks are changed', () => {
  assert.deepEqual(
    ['2030-03-30', '2030-03-31', '2030-10-27'].map((text) => hours(text, 'Europe/Berlin')),
    [24, 23, 25],
  );
  assert.deepEqual(
    ['2030-03-10', '2030-11-03'].map((text) => hours(text, 'America/New_York')),
    [23, 25],
  );
  assert.deepEqual(
    ['2030-03-31', '2030-10-27'].map((text) => hours(text, 'Asia/Kathmandu')),
    [24, 24],
  );
});

test('a day begins when the clocks of the shop say so', () => {
  const first = (text) => startOfDay(dayNumber(text)).toISOString();
  for (const [zone, text, start] of [
    ['UTC', '2030-05-02', '2030-05-02T00:00:00.000Z'],
    ['Europe/Berlin', '2030-05-02', '2030-05-01T22:00:00.000Z'],
    ['America/New_York', '2030-11-03', '2030-11-03T04:00:00.000Z'],
    ['Asia/Kathmandu', '2030-05-02', '2030-05-01T18:15:00.000Z'],
    // The clocks skip midnight.
    ['Africa/Cairo', '2030-04-26', '2030-04-25T22:00:00.000Z'],
  ]) {
    server.timeZone = zone;
    assert.equal(first(text), start, zone);
    assert.equal(dayText(at(start)), text, zone);
    assert.notEqual(dayText(new Date(at(start) - 1)), text, zone);
  }
});

test('times are shown and typed in the zone of the shop', () => {
  server.timeZone = 'Asia/Kathmandu';
  const moment = at('2030-05-01T18:30:15.250Z');
  assert.equal(localText(moment), '2030-05-02T00:15');
  assert.equal(localText(moment, 23), '2030-05-02T00:15:15.250');
  assert.deepEqual(fromLocal('2030-05-02T00:15:15.250'), moment);
  assert.deepEqual(fromLocal('2030-05-01T18:30:15.250Z'), moment);
  assert.ok(Number.isNaN(fromLocal('').getTime()));
  assert.equal(hourOf(moment), 0);
  assert.equal(day(moment), 'May 2');
  assert.equal(longDay(moment), 'Thursday, May 2');
  assert.match(dateTime(moment), /^May 2, 2030, 12:15/);
  server.timeZone = 'Europe/Berlin';
  // Twice an hour, and never one.
  assert.equal(fromLocal('2030-10-27T02:30').toISOString(), '2030-10-27T00:30:00.000Z');
  const later = new Date('2030-10-27T01:30:15.000Z');
  assert.equal(fromLocal(localText(later), later), later);
  assert.equal(fromLocal('2030-10-27T02:31', later).toISOString(), '2030-10-27T00:31:00.000Z');
  assert.equal(localText(fromLocal('2030-03-31T02:30')), '2030-03-31T03:30');
});

test('a period has the days of the shop', () => {
  server.timeZone = 'Europe/Berlin';
  const week = range({ days: '7' }, Date.parse('2030-04-02T22:30Z'));
  assert.deepEqual(
    [week.from, week.to].map((moment) => moment.toISOString()),
    ['2030-03-27T23:00:00.000Z', '2030-04-03T22:00:00.000Z'],
  );
  assert.equal(week.days, 7);
  assert.equal(week.before.from.toISOString(), '2030-03-20T23:00:00.000Z');
  server.timeZone = 'America/New_York';
  assert.equal(range({ from: '2030-03-10', to: '2030-03-10' }).days, 1);
  server.timeZone = 'UTC';
});
