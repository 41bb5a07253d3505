// Triggers around writes and reads of objects.
import {
  call,
  containing,
  created,
  error,
  find,
  get,
  master,
  others,
  post,
  put,
  remove,
  result,
  stored,
  subject,
} from '../rows.mjs';

const beforeSave = (body) =>
  `Parse.Cloud.beforeSave('Item_', async (request) => {\nconst { object } = request;\n${body}\n});`;
const one = (fields, options) => post('/classes/Item_', fields, { keep: { id: 'objectId' }, ...options });
const reads = (fields) => ({ ...get('/classes/Item_/<id>'), answer: { ...stored, ...fields } });
const nothing = { ...find('Item_'), answer: { results: [] } };
const heard = (fields, more = {}) => ({
  ...find('Heard_', {}, master),
  answer: { results: [{ ...stored, ...fields, ...others }] },
  ...more,
});
const change = { updatedAt: '<any date>' };
/** Records a trigger's input. */
const hear = (trigger, what) => `Parse.Cloud.${trigger}('Item_', (request) =>
  new Parse.Object('Heard_').save(${what}, { useMasterKey: true }));`;

export default [
  ...subject('beforeSave', 'Cloud Code guide, Save Triggers', [
    {
      name: 'a Parse.Error',
      code: beforeSave("throw new Parse.Error(9001, 'No.');"),
      ask: post('/classes/Item_', {}),
      answer: error(9001, 'No.'),
      after: [nothing],
    },
    { name: 'a text', code: beforeSave("throw 'No.';"), ask: post('/classes/Item_', {}), answer: error(141, 'No.') },
    {
      name: 'an Error',
      code: beforeSave("throw new Error('No.');"),
      ask: post('/classes/Item_', {}),
      answer: error(141, 'No.'),
      after: [nothing],
    },
    {
      name: 'nothing said',
      code: beforeSave('throw undefined;'),
      ask: post('/classes/Item_', {}),
      answer: error(141, 'Script failed. Unknown error.'),
      source: 'Parse Server 3.0 migration guide',
    },
    {
      name: 'sets a field',
      code: beforeSave("object.set('b', object.get('a') + 1);"),
      ask: one({ a: 1 }),
      status: 201,
      answer: { ...created, b: 2 },
      after: [reads({ a: 1, b: 2 })],
    },
    {
      name: 'changes a field of the client',
      code: beforeSave("object.set('a', object.get('a').toUpperCase());"),
      ask: one({ a: 'x' }),
      status: 201,
      answer: { ...created, a: 'X' },
      after: [reads({ a: 'X' })],
    },
    {
      name: 'unsets a field',
      code: beforeSave("object.unset('a');"),
      ask: one({ a: 1, b: 2 }),
      status: 201,
      answer: { ...created, ...others },
      after: [reads({ b: 2 })],
    },
    {
      name: 'takes a change back',
      code: beforeSave("if (request.original) object.revert('a');"),
      before: [one({ a: 1 })],
      ask: put('/classes/Item_/<id>', { a: 2, b: 3 }),
      answer: { ...change, ...others },
      after: [reads({ a: 1, b: 3 })],
      source: 'JS SDK, Parse.Object.revert',
    },
    {
      name: 'increments',
      code: beforeSave("object.increment('saves');"),
      before: [one({})],
      ask: put('/classes/Item_/<id>', { a: 1 }),
      answer: { ...change, saves: 2 },
      after: [reads({ saves: 2, a: 1 })],
    },
    {
      name: "sees the client's increment",
      code: beforeSave("if (object.get('n') > 5) throw 'Too many.';"),
      before: [one({ n: 4 })],
      ask: put('/classes/Item_/<id>', { n: { __op: 'Increment', amount: 2 } }),
      answer: error(141, 'Too many.'),
      after: [reads({ n: 4 })],
    },
    {
      name: 'a create has no original and no id',
      code: beforeSave("object.set('seen', [request.original === undefined, object.isNew(), object.existed()]);"),
      ask: one({}),
      status: 201,
      answer: { ...created, seen: [true, true, false] },
    },
    {
      name: 'an update has the original',
      code: beforeSave("if (request.original) object.set('was', request.original.get('a'));"),
      before: [one({ a: 1 })],
      ask: put('/classes/Item_/<id>', { a: 2 }),
      answer: { ...change, was: 1 },
    },
    {
      name: 'dirty',
      before: [one({ a: 1, b: 1 })],
      code: beforeSave("object.set('marks', [object.dirty('a'), object.dirty('b'), object.isNew()]);"),
      ask: put('/classes/Item_/<id>', { b: 2 }),
      answer: { ...change, marks: [false, true, false] },
    },
    {
      name: 'dirtyKeys',
      code: beforeSave("object.set('marks', object.dirtyKeys().sort());"),
      ask: one({ b: 1, a: 1 }),
      status: 201,
      answer: { ...created, marks: ['a', 'b'] },
    },
    {
      name: 'fields that are not sent are there',
      before: [one({ a: 1, b: 7 })],
      code: beforeSave("object.set('sum', object.get('a') + object.get('b'));"),
      ask: put('/classes/Item_/<id>', { a: 2 }),
      answer: { ...change, sum: 9 },
    },
    {
      name: 'who saves',
      code: beforeSave("object.set('who', [request.user ? request.user.id : null, request.master]);"),
      ask: one({}, { as: 'ann' }),
      status: 201,
      answer: { ...created, who: ['<ann>', false] },
    },
    {
      name: 'sets an ACL',
      code: beforeSave('const acl = new Parse.ACL(request.user); object.setACL(acl);'),
      ask: one({ a: 1 }, { as: 'ann' }),
      status: 201,
      answer: { ...created, ...others },
      after: [
        { ...get('/classes/Item_/<id>', { as: 'ben' }), answer: error(101, '<any text>'), status: 404 },
        {
          ...get('/classes/Item_/<id>', { as: 'ann' }),
          answer: { ...stored, a: 1, ACL: { '<ann>': { read: true, write: true } } },
        },
      ],
    },
    {
      name: 'in a batch refuses its own item',
      source: 'protocol 3',
      code: beforeSave("if (object.get('bad')) throw 'Bad.';"),
      ask: post('/batch', {
        requests: [
          { method: 'POST', path: '/parse/classes/Item_', body: { a: 1 } },
          { method: 'POST', path: '/parse/classes/Item_', body: { bad: true } },
        ],
      }),
      answer: [{ success: created }, { error: error(141, 'Bad.') }],
      after: [{ ...find('Item_'), answer: { results: [{ ...stored, a: 1 }] } }],
    },
    {
      name: 'saves another object',
      code: beforeSave("await new Parse.Object('Other_').save({ of: object.get('a') });"),
      ask: one({ a: 5 }),
      status: 201,
      answer: created,
      after: [{ ...find('Other_'), answer: { results: [{ ...stored, of: 5 }] } }],
    },
    {
      name: 'that saves its own class is stopped',
      source: 'docs/guides/cloud-code.md, What happens when',
      code: beforeSave("await new Parse.Object('Item_').save();"),
      ask: one({}),
      answer: { code: 141, error: containing('8 levels') },
      after: [nothing],
    },
    {
      name: 'of a subclass',
      code: `const Item = Parse.Object.extend('Item_');
        Parse.Cloud.beforeSave(Item, ({ object }) => { object.set('b', 1); });`,
      ask: one({}),
      status: 201,
      answer: { ...created, b: 1 },
    },
    {
      name: 'of a save by a function',
      source: 'Cloud Code guide, Save Triggers',
      code: `${beforeSave("object.set('b', 1);")}
        Parse.Cloud.define('f_', async () => { const item = await new Parse.Object('Item_').save({ a: 1 });
          return item.get('b'); });`,
      ask: call(),
      answer: result(1),
    },
    {
      name: 'reads a list that the client adds to',
      before: [one({ list: ['a'] })],
      code: beforeSave("object.set('size', (object.get('list') || []).length);"),
      ask: put('/classes/Item_/<id>', { list: { __op: 'AddUnique', objects: ['a', 'b'] } }),
      answer: { ...change, size: 2, ...others },
      after: [reads({ list: ['a', 'b'], size: 2 })],
    },
    {
      name: 'returns another object to write',
      source: 'Parse Server: maybeRunTrigger of beforeSave',
      code: beforeSave("return { object: { a: 'returned' } };"),
      ask: one({ a: 'sent' }),
      status: 201,
      answer: { ...created, a: 'returned' },
      after: [reads({ a: 'returned' })],
    },
  ]),
  ...subject('context', 'Cloud Code guide, Context', [
    {
      name: 'of the client',
      code: beforeSave("object.set('from', request.context.from);"),
      ask: one({}, { headers: { 'X-Parse-Cloud-Context': '{"from":"app"}' } }),
      status: 201,
      answer: { ...created, from: 'app' },
    },
    {
      name: 'of a save in the code',
      code: `${beforeSave("object.set('from', request.context.from);")}
        Parse.Cloud.define('f_', async () =>
          (await new Parse.Object('Item_').save({}, { context: { from: 'code' } })).get('from'));`,
      ask: call(),
      answer: result('code'),
    },
    {
      name: 'from beforeSave to afterSave',
      code: `${beforeSave("request.context.note = 'kept';")}\n${hear('afterSave', '{ note: request.context.note }')}`,
      ask: one({}),
      status: 201,
      answer: created,
      after: [heard({ note: 'kept' })],
    },
    {
      name: 'from beforeDelete to afterDelete',
      source: 'Parse Server 5 release notes',
      before: [one({})],
      code: `Parse.Cloud.beforeDelete('Item_', (request) => { request.context.note = 'kept'; });
        ${hear('afterDelete', '{ note: request.context.note }')}`,
      ask: remove('/classes/Item_/<id>'),
      answer: {},
      after: [heard({ note: 'kept' })],
    },
  ]),
  ...subject('afterSave', 'Cloud Code guide, afterSave', [
    {
      name: 'hears of a create',
      code: hear(
        'afterSave',
        `{ of: request.object.id, a: request.object.get("a"), existed: request.object.existed(),
          original: !!request.original }`,
      ),
      ask: one({ a: 1 }),
      status: 201,
      answer: created,
      after: [heard({ of: '<id>', a: 1, existed: false, original: false })],
    },
    {
      name: 'hears of an update',
      before: [one({ a: 1, b: 2 })],
      code: `Parse.Cloud.afterSave('Item_', async (request) => {
          if (request.original) await new Parse.Object('Heard_').save({
            now: request.object.get('a'), b: request.object.get('b'),
            was: request.original.get('a'), existed: request.object.existed() }, { useMasterKey: true }); });`,
      ask: put('/classes/Item_/<id>', { a: 2 }),
      answer: change,
      after: [heard({ now: 2, b: 2, was: 1, existed: true })],
    },
    {
      name: "an error is not the client's",
      code: "Parse.Cloud.afterSave('Item_', () => { throw new Error('after-save-broke'); });",
      ask: one({ a: 1 }),
      status: 201,
      answer: created,
      after: [reads({ a: 1 })],
      logs: ['after-save-broke'],
    },
    {
      name: 'who saved',
      code: hear('afterSave', '{ who: request.user.id, master: request.master }'),
      ask: one({}, { as: 'ann' }),
      status: 201,
      answer: created,
      after: [heard({ who: '<ann>', master: false })],
    },
  ]),
  ...subject('delete triggers', 'Cloud Code guide, Delete Triggers', [
    {
      name: 'beforeDelete refuses',
      before: [one({ kept: true })],
      code: "Parse.Cloud.beforeDelete('Item_', ({ object }) => { if (object.get('kept')) throw 'It is kept.'; });",
      ask: remove('/classes/Item_/<id>'),
      answer: error(141, 'It is kept.'),
      after: [reads({ kept: true })],
    },
    {
      name: 'beforeDelete refuses with a code',
      before: [one({})],
      code: "Parse.Cloud.beforeDelete('Item_', () => { throw new Parse.Error(9001, 'No.'); });",
      ask: remove('/classes/Item_/<id>'),
      answer: error(9001, 'No.'),
    },
    {
      name: 'beforeDelete lets go',
      before: [one({})],
      code: "Parse.Cloud.beforeDelete('Item_', () => {});",
      ask: remove('/classes/Item_/<id>'),
      answer: {},
      after: [nothing],
    },
    {
      name: 'afterDelete has the whole object',
      before: [one({ a: 1 })],
      code: hear('afterDelete', '{ of: request.object.id, a: request.object.get("a") }'),
      ask: remove('/classes/Item_/<id>'),
      answer: {},
      after: [heard({ of: '<id>', a: 1 })],
    },
    {
      name: "an error of afterDelete is not the client's",
      before: [one({})],
      code: "Parse.Cloud.afterDelete('Item_', () => { throw new Error('after-delete-broke'); });",
      ask: remove('/classes/Item_/<id>'),
      answer: {},
      logs: ['after-delete-broke'],
    },
  ]),
];
