// Readable crash reports, for any input.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadView } from '../pages.mjs';

const { breadcrumbsOf, deviceOf, exceptionsOf, tagsOf } = await loadView('crashes/event.js');

const event = {
  exception: {
    values: [
      { type: 'Cause', value: 'first', stacktrace: { frames: [{ function: 'inner' }] } },
      {
        type: 'OutOfBag',
        value: 'index 7',
        stacktrace: {
          frames: [
            { function: 'main', filename: 'main.swift', lineno: 3 },
            {
              function: 'checkout()',
              filename: 'Bag.swift',
              lineno: 17,
              in_app: true,
              pre_context: ['a', 'b'],
              context_line: 'c',
              post_context: ['d'],
            },
          ],
        },
      },
    ],
  },
};

test('what ended the app comes first, and the innermost call before those around it', () => {
  const [last, cause] = exceptionsOf(event);
  assert.equal(last.title, 'OutOfBag: index 7');
  assert.equal(cause.title, 'Cause: first');
  assert.deepEqual(
    last.frames.map(({ call, place, isOwn }) => [call, place, isOwn]),
    [
      ['checkout()', 'Bag.swift:17', true],
      ['main', 'main.swift:3', false],
    ],
  );
  assert.deepEqual(
    last.frames[0].source.map(({ number, code, isHere }) => [number, code, isHere]),
    [
      [15, 'a', false],
      [16, 'b', false],
      [17, 'c', true],
      [18, 'd', false],
    ],
  );
});

test('the crashed thread stands in where no exception has frames', () => {
  const threads = {
    values: [{ stacktrace: { frames: [] } }, { crashed: true, stacktrace: { frames: [{ function: 'f' }] } }],
  };
  assert.equal(exceptionsOf({ threads })[0].frames[0].call, 'f');
  assert.equal(exceptionsOf({ exception: [{ type: 'E' }], threads })[0].title, 'E');
});

test('what happened before is told the last first, with its time however it was written', () => {
  const crumbs = breadcrumbsOf({
    breadcrumbs: {
      values: [
        { timestamp: 1, category: 'ui', message: 'tap' },
        { timestamp: '1970-01-01T00:00:02Z', type: 'http', level: 'error', data: { url: '/x', status: 500 } },
        { timestamp: 'no time' },
      ],
    },
  });
  assert.deepEqual(
    crumbs.map(({ at, kind, words, isBad }) => [at?.getTime(), kind, words, isBad]),
    [
      [undefined, '', '', false],
      [2000, 'http', 'url: /x · status: 500', true],
      [1000, 'ui', 'tap', false],
    ],
  );
});

test('the device is told by what there is', () => {
  const contexts = { device: { model: 'iPhone14,2' }, os: { name: 'iOS', version: '17.2' }, app: null };
  assert.deepEqual(deviceOf({ contexts }), [
    ['device', 'iPhone14,2'],
    ['os', 'iOS 17.2'],
  ]);
  assert.deepEqual(tagsOf({ tags: { a: 'b', c: 1, d: {} } }), [
    ['a', 'b'],
    ['c', '1'],
  ]);
  assert.deepEqual(tagsOf({ tags: [['a', 'b'], 'x', null] }), [['a', 'b']]);
});

test('nothing that somebody sends breaks the page or fills it', () => {
  const odd = [
    null,
    undefined,
    1,
    'x',
    [],
    {},
    [null],
    [[]],
    { values: 1 },
    { values: [null, 1, 'x', {}] },
    { frames: [null] },
  ];
  for (const value of odd) {
    for (const member of ['exception', 'threads', 'stacktrace', 'breadcrumbs', 'contexts', 'tags']) {
      const one = { [member]: value };
      for (const read of [exceptionsOf, breadcrumbsOf, deviceOf, tagsOf]) assert.ok(Array.isArray(read(one)));
    }
    for (const read of [exceptionsOf, breadcrumbsOf, deviceOf, tagsOf]) assert.ok(Array.isArray(read(value)));
    const frame = { function: value, filename: value, lineno: value, context_line: 'x', pre_context: value };
    exceptionsOf({ exception: { values: [{ stacktrace: { frames: [frame] } }] } });
    breadcrumbsOf({ breadcrumbs: [{ data: value, message: value, category: value, timestamp: value }] });
    deviceOf({ contexts: { device: value, os: value, app: value } });
  }
  const frames = Array.from({ length: 5000 }, () => ({ function: 'f'.repeat(5000) }));
  const [{ frames: shown }] = exceptionsOf({ exception: { values: [{ stacktrace: { frames } }] } });
  assert.ok(shown.length <= 100 && shown[0].call.length <= 500);
});

test('each key of a project has a row, and a project without a key too', async () => {
  const { keysOf } = await loadView('crashes/keys.js');
  const keys = [
    { key: 'a', dsn: 'https://a@x/2', disabled: false },
    { key: 'b', dsn: 'https://b@x/2', disabled: true },
  ];
  const rows = keysOf([
    { projectId: '1', name: 'Web', keys: [] },
    { projectId: '2', name: 'App', keys },
  ]);
  assert.deepEqual(
    rows.map(({ name, key, disabled }) => [name, key, disabled]),
    [
      ['Web', '', true],
      ['App', 'a', false],
      ['App', 'b', true],
    ],
  );
});
