// The data browser's own logic: conditions, values, pages by cursors, delayed deletion with undo.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load } from './pages.mjs';

const { condition, constraint, operationsOf, read, written } = await load('browser/filter.js');
const { changes, columnsOf, editable, isEditable, kindOf, parse, shown } = await load('browser/types.js');
const { CursorPages, SPAN, spanStart } = await load('browser/cursor-pages.js');
const { Deletions } = await load('browser/deletions.js');
const { Garbage } = await load('browser/garbage.js');

const values = {
  text: 'a.b',
  number: 3.5,
  boolean: false,
  date: { __type: 'Date', iso: '2030-05-02T10:15:00.123Z' },
  pointer: { __type: 'Pointer', className: 'Brand', objectId: 'x1' },
  array: ['a', 7],
  geo: { __type: 'GeoPoint', latitude: 52.5, longitude: -13.4 },
  object: { a: { b: 1 } },
};

test('each kind has its conditions', () => {
  const filter = (kind, operation, value, target) => constraint({ kind, operation, value, target });
  assert.deepEqual(filter('text', 'contains', 'a.b'), { $regex: 'a\\.b', $options: 'i' });
  assert.deepEqual(filter('text', 'is', 'a.b'), { $eq: 'a.b' });
  assert.deepEqual(filter('number', 'atLeast', ' 3.5 '), { $gte: 3.5 });
  assert.deepEqual(filter('boolean', 'is', 'false'), { $eq: false });
  assert.deepEqual(filter('date', 'below', '2030-05-02T10:15:00.123Z'), { $lt: values.date });
  assert.deepEqual(filter('pointer', 'isNot', 'x1', 'Brand'), { $ne: values.pointer });
  assert.deepEqual(filter('array', 'has', '7'), { $in: [7] });
  assert.deepEqual(filter('array', 'has', 'seven'), { $in: ['seven'] });
  assert.deepEqual(filter('array', 'hasAll', '["a", 7]'), { $all: ['a', 7] });
  assert.deepEqual(filter('geo', 'near', '52.5, 13.4, 6371'), {
    $geoWithin: { $centerSphere: [[13.4, 52.5], 1] },
  });
  for (const kind of [...Object.keys(values), 'file', 'acl']) {
    assert.deepEqual(filter(kind, 'missing', ''), { $exists: false });
    assert.ok(operationsOf(kind).includes('exists'));
  }
});

test('a value that a field cannot have is no condition', () => {
  const wrong = [
    ['number', 'is', 'many'],
    ['number', 'is', ''],
    ['boolean', 'is', 'perhaps'],
    ['date', 'above', 'soon'],
    ['pointer', 'is', 'x/1', 'Brand'],
    ['pointer', 'is', 'x1', ''],
    ['array', 'hasAll', '{"a":1}'],
    ['geo', 'near', '52.5, 13.4'],
    ['geo', 'near', '95, 13.4, 1'],
    ['geo', 'near', '52.5, 13.4, -1'],
  ];
  for (const [kind, operation, value, target] of wrong) {
    assert.throws(() => constraint({ kind, operation, value, target }), SyntaxError, `${kind} ${value}`);
  }
});

test('several filters hold together, also of one field', () => {
  const filters = [
    { field: 'count', kind: 'number', operation: 'atLeast', value: '1' },
    { field: 'count', kind: 'number', operation: 'below', value: '5' },
  ];
  assert.deepEqual(condition(filters), { $and: [{ count: { $gte: 1 } }, { count: { $lt: 5 } }] });
  assert.deepEqual(condition(filters.slice(1)), { count: { $lt: 5 } });
  assert.deepEqual(condition([]), {});
  assert.deepEqual(condition(read(written(filters))), condition(filters));
  assert.equal(written([]), '');
});

test('an address that somebody made up asks nothing else', () => {
  const one = (...parts) => read(JSON.stringify([parts]));
  assert.deepEqual(read('no JSON'), []);
  assert.deepEqual(read('{"a":1}'), []);
  assert.deepEqual(read('[1,null,"a"]'), []);
  assert.deepEqual(one('$where', 'text', 'is', 'x'), []);
  assert.deepEqual(one('a.b', 'text', 'is', 'x'), []);
  assert.deepEqual(one('a', 'text', '$where', 'x'), []);
  assert.deepEqual(one('a', 'number', 'is', { $gt: 1 }), []);
  assert.deepEqual(one('a', 'constructor', 'is', 'x'), []);
  assert.equal(one('a', 'text', 'is', 'x').length, 1);
});

test('a value that is edited and left as it was stays the same', () => {
  for (const [kind, value] of Object.entries(values)) {
    assert.equal(kindOf(value), kind);
    assert.deepEqual(parse(kind, editable(value, kind), value.className), value, kind);
    assert.notEqual(shown(value), '');
  }
  assert.equal(shown(null), '');
  assert.ok(shown('x'.repeat(1e6)).length < 200);
  assert.equal(
    shown({ '*': { read: true }, 'role:admins': { read: true, write: true } }, 'acl'),
    '* r, role:admins rw',
  );
});

test('columns are what the rows have', () => {
  const rows = [
    { objectId: '1', createdAt: 'x', a: null, ACL: {} },
    { objectId: '2', a: 1, b: values.pointer },
  ];
  const columns = columnsOf(rows);
  assert.deepEqual(
    columns.map(({ name, kind }) => [name, kind]),
    [
      ['objectId', 'text'],
      ['a', 'number'],
      ['b', 'pointer'],
      ['createdAt', 'date'],
      ['updatedAt', 'date'],
      ['ACL', 'acl'],
    ],
  );
  assert.equal(columns[2].target, 'Brand');
  assert.deepEqual(
    columns.filter(isEditable).map(({ name }) => name),
    ['a', 'b', 'ACL'],
  );
});

test('of a whole row only what is other is sent', () => {
  const before = { objectId: '1', createdAt: 'x', a: 1, b: [1], c: 'gone' };
  assert.deepEqual(changes(before, { objectId: '2', a: 1, b: [2], d: true }), {
    b: [2],
    c: { __op: 'Delete' },
    d: true,
  });
});

/** A class with this many rows, whose cursors are numbers. */
function server(rows) {
  const asked = [];
  const gone = new Set();
  const load = async (cursor) => {
    asked.push(cursor);
    const results = [];
    let at = Number(cursor);
    for (; at < rows && results.length < 100; at += 1) if (!gone.has(at)) results.push({ objectId: `o${at}` });
    return { results, cursor: String(at) };
  };
  return { load, asked, gone };
}

test('a million rows are walked through and few are kept', async () => {
  const pages = new CursorPages(server(1_000_000).load);
  await pages.want(0, 40);
  while (!pages.isComplete) await pages.want(pages.length - 20, pages.length + 20);
  assert.equal(pages.length, 1_000_000);
  assert.equal(pages.at(999_999).objectId, 'o999999');
  assert.ok(pages.kept.length <= 700, `${pages.kept.length}`);
  assert.equal(pages.at(500_000), undefined);
  await pages.want(500_000, 500_040);
  assert.equal(pages.at(500_000).objectId, 'o500000');
});

test('a page is asked for once at a time', async () => {
  const { load, asked } = server(250);
  const pages = new CursorPages(load);
  await Promise.all([pages.want(0, 10), pages.want(0, 50)]);
  assert.equal(asked.length, 1);
});

test('rows that go meanwhile leave a gap, and no other row moves or comes twice', async () => {
  const { load, gone } = server(5000);
  const pages = new CursorPages(load, { keeps: 2 });
  await pages.want(0, 40);
  while (!pages.isComplete) await pages.want(pages.length - 20, pages.length + 20);
  gone.add(3).add(4);
  await pages.want(0, 99);
  assert.equal(pages.at(2).objectId, 'o2');
  assert.equal(pages.at(3).objectId, 'o5');
  assert.equal(pages.at(99), null);
  await pages.want(100, 120);
  assert.equal(pages.at(100).objectId, 'o100');
});

test('a page that fails is told, and asked for again when it is wanted again', async () => {
  const { load } = server(10);
  let fails = true;
  const pages = new CursorPages((cursor) => (fails ? Promise.reject(new Error('away')) : load(cursor)));
  const told = [];
  pages.onerror = (error) => told.push(error.message);
  await pages.want(0, 1);
  assert.deepEqual(told, ['away']);
  fails = false;
  await pages.want(0, 1);
  assert.equal(pages.length, 10);
});

test('a change that was taken back or answered late leaves the other changes of its row', async () => {
  const pages = new CursorPages(server(10).load);
  await pages.want(0, 9);
  const first = pages.at(3);
  pages.change('o3', { name: 'a', size: 1 });
  const second = pages.at(3);
  pages.change('o3', { size: 2, note: 'b' });
  pages.change('o3', { updatedAt: 'now' });
  pages.takeBack(first, { name: 'a', size: 1 });
  assert.deepEqual(pages.at(3), { objectId: 'o3', size: 2, note: 'b', updatedAt: 'now' });
  pages.takeBack(second, { size: 2, note: 'b' });
  assert.deepEqual(pages.at(3), { objectId: 'o3', size: 1, updatedAt: 'now' });
  pages.change('o3', { size: { __op: 'Delete' } });
  pages.takeBack({ objectId: 'o3', size: 1 }, { size: { __op: 'Delete' } });
  assert.equal(pages.at(3).size, 1);
  pages.put('o3', null);
  pages.change('o3', { name: 'c' });
  pages.takeBack(second, { size: 2 });
  assert.equal(pages.at(3), null);
});

test('what scrolls is never higher than a browser can have it', () => {
  let start = 0;
  for (let row = 0; row < 1_000_000; row += 37) {
    start = spanStart(start, row, 1_000_000);
    assert.ok(row >= start && row < start + SPAN, `${row} ${start}`);
  }
  for (let row = 999_999; row >= 0; row -= 37) {
    start = spanStart(start, row, 1_000_000);
    assert.ok(row >= start && row < start + SPAN, `${row} ${start}`);
  }
  assert.equal(spanStart(start, 0, 1_000_000), 0);
});

/** A manually advanced clock. */
function handClock() {
  const timers = new Map();
  return {
    setTimeout: (run, after) => {
      const key = {};
      timers.set(key, { run, after });
      return key;
    },
    clearTimeout: (key) => timers.delete(key),
    ring: () => Promise.all([...timers.values()].map(({ run }) => run())),
    timers,
  };
}

test('what is undone in time is never sent', async () => {
  const clock = handClock();
  const deletions = new Deletions(clock);
  const sent = [];
  const outcomes = [];
  const send = (id) => async () => sent.push(id);
  const undo = deletions.add(['a'], send('a'), (outcome) => outcomes.push(outcome));
  deletions.add(['b'], send('b'), (outcome) => outcomes.push(outcome));
  assert.equal([...clock.timers.values()][0].after, 10000);
  assert.ok(deletions.has('a'));
  assert.equal(undo(), true);
  assert.ok(!deletions.has('a'));
  await clock.ring();
  assert.deepEqual(sent, ['b']);
  assert.deepEqual(outcomes, ['undone', 'deleted']);
  assert.equal(undo(), false);
});

test('a sign-out keeps everything, a refusal is told', async () => {
  const clock = handClock();
  const deletions = new Deletions(clock);
  const outcomes = [];
  deletions.add(
    ['a'],
    async () => assert.fail(),
    (outcome) => outcomes.push(outcome),
  );
  deletions.undoAll();
  await clock.ring();
  assert.deepEqual(outcomes, ['undone']);
  const refusal = new Error('no');
  deletions.add(
    ['b'],
    () => Promise.reject(refusal),
    (outcome) => outcomes.push(outcome),
  );
  await clock.ring();
  assert.deepEqual(outcomes, ['undone', refusal]);
});

test('garbage of texts is collected each time when there is much of it', () => {
  let times = 0;
  const garbage = new Garbage(() => {
    times += 1;
  });
  const seen = [2000, 2000, 2000, 0, 2000, 100000, 2000].map((texts) => {
    garbage.add(texts);
    return times;
  });
  assert.deepEqual(seen, [0, 1, 1, 1, 2, 3, 3]);
});

/** The buffer sizes by which `Garbage` triggers a collection, in an engine with or without `performance.memory`. */
function roomsTaken(memory, take) {
  const taken = [];
  const known = globalThis.ArrayBuffer;
  Object.defineProperty(performance, 'memory', { value: memory, configurable: true });
  globalThis.ArrayBuffer = class {
    constructor(bytes) {
      taken.push(bytes);
      take();
    }
    transfer(bytes) {
      taken.push(bytes);
    }
  };
  try {
    new Garbage().add(10000);
  } finally {
    globalThis.ArrayBuffer = known;
    delete performance.memory;
  }
  return taken;
}

test('to collect takes room and gives it back, in Chromium alone', () => {
  assert.deepEqual(
    roomsTaken({}, () => {}),
    [96 << 20, 0],
  );
  assert.deepEqual(
    roomsTaken(undefined, () => {}),
    [],
  );
});

test('where there is no room nothing is collected', () => {
  const refuse = () => {
    throw new RangeError('Array buffer allocation failed');
  };
  assert.deepEqual(roomsTaken({}, refuse), [96 << 20]);
});
