// Classes as a whole: columns of every type, indexes, permissions and their differences, plans as text.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load, loadView } from '../pages.mjs';

const schema = await load('browser/schema.js');
const { editable, isEditable, isTyped, parse } = await load('browser/types.js');
const permissions = await load('browser/permissions.js');
const { stepsOf, verdict } = await load('browser/plan.js');
const { operation } = await loadView('browser/relation.js');

const product = {
  className: 'Thing',
  fields: {
    objectId: { type: 'String' },
    createdAt: { type: 'Date' },
    updatedAt: { type: 'Date' },
    ACL: { type: 'ACL' },
    name: { type: 'String', required: true, defaultValue: '' },
    owner: { type: 'Pointer', targetClass: '_User' },
    fans: { type: 'Relation', targetClass: '_User' },
    area: { type: 'Polygon' },
    raw: { type: 'Bytes' },
    future: { type: 'Quaternion' },
  },
};

test('a class has the columns of its schema, also where no row has them, and new ones of rows', () => {
  const names = (columns) => columns.map(({ name }) => name);
  const standard = ['createdAt', 'updatedAt', 'ACL'];
  assert.deepEqual(names(schema.columnsOf(product, [])), [
    'objectId',
    ...['name', 'owner', 'fans', 'area', 'raw', 'future'],
    ...standard,
  ]);
  const columns = schema.columnsOf(product, [
    { objectId: 'a', fresh: 1, owner: { __type: 'Pointer', className: 'X' } },
  ]);
  assert.deepEqual(names(columns).slice(-4), ['fresh', ...standard]);
  assert.equal(columns.find(({ name }) => name === 'owner').target, '_User');
  assert.deepEqual(names(schema.columnsOf(undefined, [{ a: 1 }])), ['objectId', 'a', ...standard]);
  const kinds = Object.fromEntries(columns.map(({ name, kind }) => [name, kind]));
  assert.deepEqual([kinds.fans, kinds.area, kinds.raw, kinds.future], ['relation', 'polygon', 'bytes', 'object']);
  assert.equal(schema.fieldsOf(product)[0].required, true);
});

test('every type of a column is sent as the server takes it', () => {
  const made = (type, more = {}) => schema.definition({ type, ...more });
  assert.deepEqual(made('String', { required: true, defaultValue: 'x' }), {
    type: 'String',
    required: true,
    defaultValue: 'x',
  });
  assert.deepEqual(made('Number', { defaultValue: '-0.5' }), { type: 'Number', defaultValue: -0.5 });
  assert.deepEqual(made('Boolean', { defaultValue: 'false' }), { type: 'Boolean', defaultValue: false });
  assert.deepEqual(made('Date', { defaultValue: '2030-05-02T10:15:00Z' }).defaultValue, {
    __type: 'Date',
    iso: '2030-05-02T10:15:00.000Z',
  });
  assert.deepEqual(made('Array', { defaultValue: '[1]' }).defaultValue, [1]);
  assert.deepEqual(made('Object', { defaultValue: '{"a":1}' }).defaultValue, { a: 1 });
  assert.deepEqual(made('GeoPoint', { defaultValue: '1, 2' }).defaultValue, {
    __type: 'GeoPoint',
    latitude: 1,
    longitude: 2,
  });
  assert.deepEqual(made('Pointer', { target: ' Thing ', defaultValue: 'x1' }), {
    type: 'Pointer',
    targetClass: 'Thing',
    defaultValue: { __type: 'Pointer', className: 'Thing', objectId: 'x1' },
  });
  // A relation can be neither required nor have a default.
  assert.deepEqual(made('Relation', { target: '_User', required: true, defaultValue: 'x' }), {
    type: 'Relation',
    targetClass: '_User',
  });
  assert.deepEqual(made('File', { defaultValue: 'left over' }), { type: 'File' });
  for (const type of schema.types) {
    assert.equal(made(type, { target: 'Thing' }).type, type);
  }
});

test('what cannot be a column is refused before it is sent', () => {
  const key = (expected) => (error) => error.key === expected;
  assert.throws(() => schema.definition({ type: 'Pointer' }), key('schema.badTarget'));
  assert.throws(() => schema.definition({ type: 'Relation', target: 'a b' }), key('schema.badTarget'));
  for (const [type, text] of [
    ['Number', 'many'],
    ['Boolean', '1'],
    ['Date', 'soon'],
    ['Array', '{}'],
    ['GeoPoint', '1'],
  ]) {
    assert.throws(() => schema.definition({ type, defaultValue: text }), key('schema.badDefault'), type);
  }
  for (const name of ['a', 'A_1', 'x'.repeat(128)]) assert.ok(schema.isFieldName(name));
  for (const name of ['', '1a', '_a', 'a b', 'a.b', 'x'.repeat(129)]) assert.ok(!schema.isFieldName(name), name);
});

test('polygons and bytes are read as they are written', () => {
  const polygon = {
    __type: 'Polygon',
    coordinates: [
      [0, 0],
      [0, 1],
      [1, 1],
    ],
  };
  assert.deepEqual(parse('polygon', editable(polygon, 'polygon')), polygon);
  assert.deepEqual(parse('polygon', '[[0,0],[0,1],[1,1]]'), polygon);
  const bytes = { __type: 'Bytes', base64: 'aGk=' };
  assert.deepEqual(parse('bytes', editable(bytes, 'bytes')), bytes);
  for (const text of [
    '[[0,0],[0,1]]',
    '[[0,0],[0,1],[91,1]]',
    '[[0,0],[0,1],[1]]',
    '{"coordinates":[]}',
    '7',
    'null',
  ]) {
    assert.throws(() => parse('polygon', text), SyntaxError, text);
  }
  for (const text of [
    '"aGk="',
    '{"__type":"Bytes","base64":"a"}',
    '{"__type":"Bytes","base64":"?!=="}',
    '{}',
    'null',
  ]) {
    assert.throws(() => parse('bytes', text), SyntaxError, text);
  }
  for (const kind of ['file', 'relation', 'polygon', 'bytes']) assert.ok(isEditable({ name: 'x', kind }));
  assert.deepEqual(
    ['file', 'relation', 'acl', 'polygon', 'bytes'].filter((kind) => isTyped({ name: 'x', kind })),
    ['polygon', 'bytes'],
  );
});

test('members of a relation are added and removed in one change', () => {
  const pointer = (objectId) => ({ __type: 'Pointer', className: 'Thing', objectId });
  assert.equal(operation('Thing', [], []), null);
  assert.deepEqual(operation('Thing', ['a'], []), { __op: 'AddRelation', objects: [pointer('a')] });
  assert.deepEqual(operation('Thing', ['a'], ['b']), {
    __op: 'Batch',
    ops: [
      { __op: 'AddRelation', objects: [pointer('a')] },
      { __op: 'RemoveRelation', objects: [pointer('b')] },
    ],
  });
});

test('indexes say who made them', () => {
  const found = schema.indexesOf({
    indexes: { _id_: { _id: 1 }, own: { name: 1, age: -1, _unique: true }, auto_name: { name: 1 } },
    automaticIndexes: {
      auto_name: { fields: ['name'], madeBy: 'satchel', madeAt: '2030-01-01T00:00:00.000Z', state: 'ready' },
      auto_age: { fields: ['age'], madeBy: 'operator', madeAt: '2030-01-01T00:00:00.000Z', state: 'building' },
      auto_old: { fields: ['old', 'er'], madeBy: 'satchel', state: 'unwanted' },
    },
  });
  assert.deepEqual(
    found.map(({ name, fields, by, state }) => [name, fields.join(), by, state]),
    [
      ['own', 'name,-age', 'operator', 'ready'],
      ['auto_name', 'name', 'satchel', 'ready'],
      ['auto_age', 'age', 'wish', 'building'],
      ['auto_old', 'old,er', 'satchel', 'unwanted'],
    ],
  );
  assert.deepEqual(schema.indexesOf({}), []);
});

test('an index is of columns that there are, each once, in the order that was typed', () => {
  assert.deepEqual(schema.indexOf('b, -a', ['a', 'b']), {
    name: 'b_desc_a',
    fields: { b: 1, a: -1, _order: ['b', 'a'] },
  });
  for (const text of ['', ' , ', 'c', 'a, -a', '_order']) {
    assert.throws(
      () => schema.indexOf(text, ['a', 'b']),
      (error) => error.key === 'schema.badIndex',
      text,
    );
  }
});

const open = permissions.complete(null);

test('a class without permissions is open, and one with some grants nothing else', () => {
  assert.ok(permissions.actions.every((action) => permissions.may(open, '*', action)));
  const some = permissions.complete({ find: { 'role:admins': true } });
  assert.ok(!permissions.may(some, '*', 'find'));
  assert.ok(!permissions.may(some, 'role:admins', 'get'));
  assert.deepEqual(permissions.grantees(permissions.complete({ find: { u1: true, 'role:z': true, 'role:a': true } })), [
    '*',
    'requiresAuthentication',
    'role:a',
    'role:z',
    'u1',
  ]);
});

test('each change of permissions is one difference, and taken back it is none', () => {
  const steps = [
    [(p) => permissions.granted(p, '*', 'find', false), { part: 'grant', who: '*', what: 'find', isGiven: false }],
    [
      (p) => permissions.granted(p, 'role:a', 'get', true),
      { part: 'grant', who: 'role:a', what: 'get', isGiven: true },
    ],
    [
      (p) => permissions.withPointer(p, 'owner', 'update', true),
      { part: 'pointer', who: 'owner', what: 'update', isGiven: true },
    ],
    [(p) => permissions.withProtected(p, '*', ['secret']), { part: 'hidden', who: '*', what: 'secret', isGiven: true }],
    [
      (p) => permissions.withUserFields(p, 'readUserFields', 'owner', true),
      { part: 'user', who: 'owner', what: 'read', isGiven: true },
    ],
  ];
  for (const [step, expected] of steps) {
    const [found, ...more] = permissions.difference(open, step(open));
    assert.deepEqual({ ...found, isForAll: undefined }, { ...expected, isForAll: undefined });
    assert.deepEqual(more, []);
    const [back] = permissions.difference(step(open), open);
    assert.equal(back.isGiven, !expected.isGiven);
  }
  // A group that hides nothing shows its members fields that others do not see; where nothing is hidden it has no
  // effect.
  const hidden = permissions.withProtected(open, '*', ['secret']);
  const shows = permissions.difference(hidden, permissions.withProtected(hidden, 'role:a', []));
  assert.deepEqual(shows, [{ part: 'shown', who: 'role:a', what: '', isGiven: true, isForAll: false }]);
  assert.deepEqual(permissions.difference(open, permissions.withProtected(open, '*', [])), []);
  const there = permissions.withPointer(open, 'owner', 'update', true);
  assert.deepEqual(permissions.withPointer(there, 'owner', 'update', false), open);
  assert.deepEqual(permissions.difference(open, null), [], 'None at all are those of an open class.');
  // Ignored details, such as the order of names, are not a difference.
  const twice = (names) => permissions.withProtected(open, '*', names);
  assert.deepEqual(permissions.difference(twice(['a', 'b']), { ...open, protectedFields: { '*': ['b', 'a'] } }), []);
});

test('what becomes everybody’s is marked', () => {
  const closed = permissions.granted(open, '*', 'find', false);
  const isForAll = (before, after) => permissions.difference(before, after).map((change) => change.isForAll);
  assert.deepEqual(isForAll(closed, open), [true]);
  assert.deepEqual(isForAll(open, closed), [false]);
  const hidden = permissions.withProtected(open, '*', ['secret']);
  assert.deepEqual(isForAll(hidden, open), [true]);
  assert.deepEqual(isForAll(open, hidden), [false]);
  assert.deepEqual(isForAll(open, permissions.granted(open, 'role:a', 'find', true)), [false]);
});

test('permissions are sent whole and given to names that the server takes', () => {
  const sent = permissions.wire(permissions.withProtected(open, 'authenticated', ['b', 'a', 'a']));
  assert.deepEqual(Object.keys(sent).sort(), [...permissions.actions, 'protectedFields'].sort());
  assert.deepEqual(sent.protectedFields, { authenticated: ['a', 'b'] });
  for (const name of ['*', 'requiresAuthentication', 'role:shop staff', 'u1_-']) assert.ok(permissions.isGrantee(name));
  for (const name of ['', 'role:', 'a b', 'userField:owner', 'x'.repeat(65)])
    assert.ok(!permissions.isGrantee(name), name);
  assert.ok(permissions.isGroup('userField:owner') && permissions.isGroup('authenticated'));
});

test('a plan says whether an index finds the rows', () => {
  const step = (id, parent, detail) => ({ id, parent, detail });
  const cases = {
    scan: [step(2, 0, 'SCAN o12'), step(9, 0, 'USE TEMP B-TREE FOR ORDER BY')],
    ordered: [step(2, 0, 'SCAN o12 USING INDEX own_name')],
    search: [step(2, 0, 'SEARCH o12 USING COVERING INDEX auto_name (k0=?)')],
    none: [],
  };
  for (const [expected, steps] of Object.entries(cases)) assert.equal(verdict(steps), expected);
  assert.equal(verdict([...cases.search, ...cases.scan]), 'scan');
  const steps = stepsOf([
    step(3, 0, 'MULTI-INDEX OR'),
    step(4, 3, 'INDEX 1'),
    step(7, 4, 'SEARCH o12 USING INDEX a (x=?)'),
    step(9, 0, 'SEARCH o12 USING INTEGER PRIMARY KEY (rowid=?)'),
    step(11, 0, 'SCAN json_each VIRTUAL TABLE INDEX 0:'),
  ]);
  assert.deepEqual(
    steps.map(({ depth, kind, index }) => [depth, kind, index]),
    [
      [0, 'other', null],
      [1, 'other', null],
      [2, 'search', 'a'],
      [0, 'search', 'objectId'],
      [0, 'other', null],
    ],
  );
});

test('the plan of PostgreSQL is told in the same words', () => {
  const plans = {
    scan: [
      'Limit  (cost=1..2)',
      'Sort  (cost=1..2); Sort Key: id',
      'Parallel Seq Scan on o1 o  (cost=1..2); Filter: x',
    ],
    ordered: ['Limit  (cost=1..2)', 'Index Scan Backward using o1_pkey on o1 o  (cost=1..2); Filter: x'],
    search: [
      'Bitmap Heap Scan on o1  (cost=1..2); Recheck Cond: x',
      'Bitmap Index Scan on i2_name  (cost=1..2); Index Cond: x',
    ],
    none: ['Result  (cost=0..0); One-Time Filter: false'],
  };
  for (const [expected, details] of Object.entries(plans)) {
    assert.equal(verdict(details.map((detail, index) => ({ id: index + 1, parent: index, detail }))), expected);
  }
  const steps = stepsOf([
    { id: 1, parent: 0, detail: 'Limit  (cost=1..2)' },
    { id: 2, parent: 1, detail: 'Index Only Scan using i2_name on o1  (cost=1..2); Index Cond: (name = 1)' },
  ]);
  assert.deepEqual(
    steps.map(({ depth, kind, index }) => [depth, kind, index]),
    [
      [0, 'other', null],
      [1, 'search', 'i2_name'],
    ],
  );
});
