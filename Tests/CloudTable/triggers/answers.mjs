// The client's answer after beforeSave and afterSave changed the object. The suite waits for afterSave.
import { created, get, master, pointer, post, put, stored, subject } from '../rows.mjs';

const beforeSave = (body) =>
  `Parse.Cloud.beforeSave('Item_', async (request) => {\nconst { object, original } = request;\n${body}\n});`;
const onUpdate = (body) => beforeSave(`if (!original) return;\n${body}`);
const afterSave = (body) =>
  `Parse.Cloud.afterSave('Item_', async (request) => {\nconst { object } = request;\n${body}\n});`;
const one = (fields, options) => post('/classes/Item_', fields, { keep: { id: 'objectId' }, ...options });
const reads = (fields) => ({ ...get('/classes/Item_/<id>'), answer: { ...stored, ...fields } });
const gone = { __op: 'Delete' };
const phone = { headers: { 'X-Parse-Client-Version': 'i1.19.0' } };

/** A row of an update: the object before, the change, the code, the answer besides updatedAt, and the object after. */
const update = (name, before, change, code, answer, after = before, more = {}) => ({
  name,
  before: [one(before)],
  code,
  ask: put('/classes/Item_/<id>', change),
  answer: { updatedAt: '<any date>', ...answer },
  after: [reads(after)],
  ...more,
});
/** A row of a create: the sent object, the code, the answer besides objectId and createdAt, and the object after. */
const create = (name, fields, code, answer, after, more = {}) => ({
  name,
  code,
  ask: one(fields),
  status: 201,
  answer: { ...created, ...answer },
  after: [reads(after)],
  ...more,
});
const constant = (rule) =>
  `Parse.Cloud.beforeSave('Item_', () => {}, { fields: { kind: { constant: true${rule} } } });`;
const schema = (fields, classLevelPermissions) =>
  post('/schemas/Item_', { className: 'Item_', fields, classLevelPermissions }, master);

export default [
  ...subject('taken back', 'Parse Server #7838 and CloudCode.spec, revert', [
    update('a number', { n: 5 }, { n: 99 }, onUpdate("object.revert('n');"), { n: 5 }),
    update(
      'a list and an object',
      { l: [1], m: { a: 1 } },
      { l: [1, 2], m: { a: 2 } },
      onUpdate("object.revert('l', 'm');"),
      { l: [1], m: { a: 1 } },
    ),
    update('an increment', { n: 5 }, { n: { __op: 'Increment', amount: 9 } }, onUpdate("object.revert('n');"), {
      n: 5,
    }),
    update('a removal', { s: 'x' }, { s: gone }, onUpdate("object.revert('s');"), { s: 'x' }),
    update('a field that was not there', {}, { n: 1 }, onUpdate("object.revert('n');"), { n: gone }),
    update(
      'for a client that knows no removals',
      {},
      { n: 1 },
      onUpdate("object.revert('n');"),
      {},
      {},
      {
        ask: put('/classes/Item_/<id>', { n: 1 }, phone),
      },
    ),
    update('everything', { n: 1, s: 'x' }, { n: 2, s: 'y' }, onUpdate('object.revert();'), { n: 1, s: 'x' }),
    update('a value set back', { n: 5 }, { n: 9 }, onUpdate("object.set('n', original.get('n'));"), { n: 5 }),
    create('of a create', { a: 1, b: 2 }, beforeSave("object.revert('a');"), { a: gone }, { b: 2 }),
    {
      ...update('in a batch', { n: 5 }, {}, onUpdate("object.revert('n');"), {}),
      ask: post('/batch', { requests: [{ method: 'PUT', path: '/parse/classes/Item_/<id>', body: { n: 7 } }] }),
      answer: [{ success: { updatedAt: '<any date>', n: 5 } }],
    },
    {
      ...update('a field that the client may not read', {}, { secret: 2 }, onUpdate("object.revert('secret');"), {}),
      before: [
        schema(
          { secret: { type: 'Number' } },
          {
            ...Object.fromEntries(['find', 'get', 'create', 'update'].map((right) => [right, { '*': true }])),
            protectedFields: { '*': ['secret'] },
          },
        ),
        one({ secret: 1 }, master),
      ],
      after: [{ ...get('/classes/Item_/<id>', master), answer: { ...stored, secret: 1 } }],
    },
  ]),
  ...subject('constants', 'Parse Server: validators, constant', [
    update('keep what is stored', { kind: 'a' }, { kind: 'b', n: 1 }, constant(''), { kind: 'a' }, { kind: 'a', n: 1 }),
    update('keep nothing', {}, { kind: 'b', n: 1 }, constant(''), { kind: gone }, { n: 1 }),
    update('keep their members', { kind: { a: 1 } }, { 'kind.a': 2 }, constant(''), { kind: { a: 1 } }),
    create('begin with their default', { kind: 'b' }, constant(", default: 'a'"), { kind: 'a' }, { kind: 'a' }),
  ]),
  ...subject('defaults', 'Parse Server: defaultValue of a schema', [
    create(
      'of a field that the code unsets',
      { n: 1 },
      beforeSave("object.unset('n');"),
      { n: 7 },
      { n: 7 },
      {
        before: [schema({ n: { type: 'Number', defaultValue: 7 } })],
      },
    ),
    create(
      'of a field that the code takes back',
      { n: 1 },
      beforeSave("object.revert('n');"),
      { n: 7 },
      { n: 7 },
      {
        before: [schema({ n: { type: 'Number', defaultValue: 7 } })],
      },
    ),
  ]),
  ...subject('afterSave', 'Parse Server: CloudCode.spec, afterSave hooks', [
    create(
      'sets and unsets',
      { a: 1, b: 2 },
      afterSave("object.set('more', 'x'); object.unset('a');"),
      { more: 'x', a: gone },
      { a: 1, b: 2 },
    ),
    create(
      'unsets what beforeSave set',
      {},
      `${beforeSave("object.set('secret', 1);")}\n${afterSave("object.unset('secret');")}`,
      { secret: gone },
      { secret: 1 },
    ),
    update(
      'of an update',
      { n: 1, m: { a: 1 } },
      { n: 2 },
      afterSave("object.increment('n'); object.set('m.b', 2); object.get('m').c = 3;"),
      { n: 3, m: { a: 1, b: 2, c: 3 } },
      { n: 2, m: { a: 1 } },
    ),
    create('returns an answer', { a: 1 }, afterSave("return { told: 'so' };"), { told: 'so' }, { a: 1 }),
    create(
      'returns another object',
      { a: 1 },
      afterSave("return new Parse.Object('Other_').save({ b: 1 });"),
      {},
      { a: 1 },
    ),
    create('changes nothing', { a: 1 }, afterSave("object.get('a'); return {};"), {}, { a: 1 }),
    create(
      'throws',
      { a: 1 },
      afterSave("object.set('b', 1); throw new Error('after-save-broke-here');"),
      {},
      { a: 1 },
    ),
    {
      ...create('an object that it fetched is a pointer', {}, '', {}, {}),
      before: [post('/classes/Other_', { hidden: 1, ACL: {} }, { ...master, keep: { other: 'objectId' } })],
      code: afterSave(`const other = await new Parse.Query('Other_').first({ useMasterKey: true });
        object.set('other', other);`),
      answer: { ...created, other: pointer('Other_', '<other>') },
    },
    {
      name: 'of a sign-up',
      code: `Parse.Cloud.beforeSave('_User', ({ object }) => { if (object.get('marked')) object.revert('taken'); });
        Parse.Cloud.afterSave('_User', ({ object }) => { if (object.get('marked')) object.set('more', 'x'); });`,
      ask: post('/users', { username: 'zoe_', password: 'a-password-1', marked: true, taken: 1 }),
      status: 201,
      answer: { ...created, sessionToken: '<any text>', taken: gone, more: 'x' },
    },
    {
      ...create('in a batch', {}, afterSave("object.set('n', object.get('n') + 1);"), {}, {}),
      ask: post('/batch', {
        requests: [1, 2].map((n) => ({ method: 'POST', path: '/parse/classes/Item_', body: { n } })),
      }),
      status: 200,
      answer: [{ success: { ...created, n: 2 } }, { success: { ...created, n: 3 } }],
      after: [],
    },
  ]),
];
