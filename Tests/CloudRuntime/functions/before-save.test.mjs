// beforeSave: its input, the effect of its changes, and its errors, in both styles.
import { snippets, trigger } from '../snippets.mjs';

const failed = (code, message) => ({ error: { code, message } });
const then = '2024-01-01T00:00:00.000Z';
const stored = {
  objectId: 'i1', name: 'old', count: 3, tags: ['a'], meta: { a: 1 }, createdAt: then, updatedAt: then,
};
const before = (body) => `Parse.Cloud.beforeSave('Item', async (request) => {\n${body}\n});`;
const hostedBefore = (body) => `Parse.Cloud.beforeSave('Item', function (request, response) {\n${body}\n});`;
/** The context carries a trigger's input, so that the row can compare it. */
const seeing = (expression) => before(`request.context.seen = ${expression};`);
const saved = (object, context = {}) => ({ result: { object, context } });
const create = (object, more) => trigger('beforeSave', { object, ...more });
const update = (object, more) => trigger('beforeSave', { object, original: stored, ...more });
const saw = (object, seen) => saved(object, { seen });

snippets('beforeSave of modern code', [
  {
    name: 'a field that is set is saved',
    code: before("request.object.set('slug', request.object.get('name').toLowerCase());"),
    run: create({ name: 'ANN' }),
    expected: saved({ name: 'ANN', slug: 'ann' }),
  },
  {
    name: 'a new password is seen and in no JSON, log, error or context',
    code: before(`
      const { object, context } = request;
      console.log(object, request, object.attributes, JSON.stringify([object, object.clone(), request]));
      console.log(\`word \${object.get('password')}\`);
      console.log(require('util').inspect(request, { showHidden: true, depth: 9 }));
      context.seen = [object.has('password'), object.dirty('password'), object.dirtyKeys(), object.toJSON().password];
      context.deep = { list: [object.get('password')] };
      globalThis.kept = object;
    `),
    run: create({ name: 'x' }, { dirtyKeys: ['name'], password: 'p"ss-word' }),
    expected: saved({ name: 'x' }, {
      seen: [true, true, ['password', 'name'], null], deep: { list: ['[secret]'] },
    }),
    logs: [['log', 'word [secret]']],
    unseen: ['ss-word'],
  },
  {
    name: 'an error that repeats a new password',
    code: before("throw new Error(`${request.object.get('password')} is weak`);"),
    run: create({ name: 'x' }, { password: 'password' }),
    expected: failed(141, '[secret] is weak'),
    unseen: ['password is'],
  },
  {
    name: 'a password that was seen is not seen later',
    code: before("globalThis.kept = request.object;")
      + "Parse.Cloud.define('f', () => [kept.get('password') === undefined, kept.dirtyKeys()]);",
    run: [create({ name: 'x' }, { password: 'password' }), { kind: 'function', name: 'f' }],
    expected: { result: [true, ['name']] },
  },
  {
    name: 'rules for a new password',
    code: `Parse.Cloud.beforeSave('Item', () => {}, {
      fields: { password: { required: true, options: (one) => one.length > 8 } } });`,
    run: create({ name: 'x' }, { password: 'short-1' }),
    expected: failed(142, 'Validation failed. Invalid value for password.'),
  },
  { name: 'nothing changed', code: before(''), run: create({ name: 'x' }), expected: saved({ name: 'x' }) },
  {
    name: 'a new object is new',
    code: seeing(`
      [request.object.isNew(), request.object.existed(), request.object.id === undefined,
      request.original === undefined]
    `),
    run: create({ name: 'x' }),
    expected: saw({ name: 'x' }, [true, false, true, true]),
  },
  {
    name: 'an update knows the stored object',
    code: seeing(`
      [request.object.isNew(), request.object.get('name'), request.original.get('name'),
      request.object.get('count'), request.object.id]
    `),
    run: update({ name: 'new' }),
    expected: saw({ objectId: 'i1', name: 'new' }, [false, 'new', 'old', 3, 'i1']),
  },
  {
    name: 'dirty keys are those of the write',
    code: seeing(`
      [request.object.dirtyKeys(), request.object.dirty('name'), request.object.dirty('count'),
      request.original.dirty()]
    `),
    run: update({ name: 'new' }),
    expected: saw({ objectId: 'i1', name: 'new' }, [['name'], true, false, false]),
  },
  { name: 'a whole object is compared with the stored one', code: seeing('request.object.dirtyKeys()'),
    run: update({ ...stored, name: 'new' }), expected: saw({ objectId: 'i1', name: 'new' }, ['name']) },
  {
    name: 'the host may say which keys are dirty',
    code: seeing('request.object.dirtyKeys()'),
    run: update({ ...stored }, { dirtyKeys: ['name', 'gone'] }),
    expected: saw({ objectId: 'i1', name: 'old', gone: { __op: 'Delete' } }, ['name', 'gone']),
  },
  {
    name: "the client's operations stay operations",
    code: seeing("[request.object.get('count'), request.object.get('tags')]"),
    run: update({ count: { __op: 'Increment', amount: 2 }, tags: { __op: 'AddUnique', objects: ['a', 'b'] } }),
    expected: saw(
      { objectId: 'i1', count: { __op: 'Increment', amount: 2 }, tags: { __op: 'AddUnique', objects: ['a', 'b'] } },
      [5, ['a', 'b']],
    ),
  },
  {
    name: "operations of the code follow the client's",
    code: before("request.object.increment('count'); request.object.add('tags', 'z');"),
    run: update({ count: { __op: 'Increment', amount: 2 } }),
    expected: saved({
      objectId: 'i1',
      count: { __op: 'Increment', amount: 3 },
      tags: { __op: 'Add', objects: ['z'] },
    }),
  },
  {
    name: 'an increment after a set is a set',
    code: before("request.object.increment('count', 10);"),
    run: update({ count: 1 }),
    expected: saved({ objectId: 'i1', count: 11 }),
  },
  {
    name: 'unset',
    code: before("request.object.unset('name');"),
    run: update({ count: 4 }),
    expected: saved({ objectId: 'i1', count: 4, name: { __op: 'Delete' } }),
  },
  {
    name: "a client's delete",
    code: seeing("request.object.has('name')"),
    run: update({ name: { __op: 'Delete' } }),
    expected: saw({ objectId: 'i1', name: { __op: 'Delete' } }, false),
  },
  {
    name: 'revert takes a change back',
    code: before("request.object.revert('name');"),
    run: update({ name: 'new', count: 9 }),
    expected: saved({ objectId: 'i1', count: 9 }),
  },
  {
    name: 'a change in place of a stored object is saved',
    code: before("request.object.get('meta').b = 2;"),
    run: update({ name: 'new' }),
    expected: saved({ objectId: 'i1', name: 'new', meta: { a: 1, b: 2 } }),
  },
  {
    name: 'an object that was only read is not saved',
    code: before("request.object.get('meta'); request.object.toJSON();"),
    run: update({ name: 'new' }),
    expected: saved({ objectId: 'i1', name: 'new' }),
  },
  {
    name: 'a part of an object by its path',
    code: seeing("request.object.get('meta')"),
    run: update({ 'meta.b': 7 }),
    expected: saw({ objectId: 'i1', 'meta.b': 7 }, { a: 1, b: 7 }),
  },
  {
    name: 'an increment of a part',
    code: seeing("request.object.get('meta').a"),
    run: update({ 'meta.a': { __op: 'Increment', amount: 4 } }),
    expected: saw({ objectId: 'i1', 'meta.a': { __op: 'Increment', amount: 4 } }, 5),
  },
  {
    name: 'an operation on a member is one with that of the code',
    code: before("request.object.increment('meta.a'); request.object.set('meta.b', request.object.get('meta').a);"),
    run: update(
      { meta: { a: 5 }, name: 'new' },
      { dirtyKeys: ['meta', 'name'], members: { 'meta.a': { __op: 'Increment', amount: 4 } } },
    ),
    expected: saved({
      objectId: 'i1', name: 'new', 'meta.a': { __op: 'Increment', amount: 5 }, 'meta.b': 6,
    }),
  },
  {
    name: 'a member that is taken back is not in the result',
    code: before("request.object.revert('meta.a');"),
    run: update({ meta: { a: 5, b: 1 } }, { dirtyKeys: ['meta'], members: { 'meta.a': 5, 'meta.b': 1 } }),
    expected: saved({ objectId: 'i1', 'meta.b': 1 }),
  },
  {
    name: 'a member of an operation on the whole list',
    code: before("request.context.seen = request.object.get('tags');"),
    run: update(
      { tags: { __op: 'Add', objects: ['b'] } },
      { dirtyKeys: ['tags'], members: { 'tags.0': 'z' } },
    ),
    expected: saved(
      { objectId: 'i1', tags: { __op: 'Add', objects: ['b'] }, 'tags.0': 'z' }, { seen: ['z', 'b'] },
    ),
  },
  {
    name: 'relations',
    code: before(`
      request.object.relation('likes').add(Parse.Object.fromJSON({ className: 'User2', objectId: 'u2' }));
    `),
    run: update({
      likes: { __op: 'AddRelation', objects: [{ __type: 'Pointer', className: 'User2', objectId: 'u1' }] },
    }),
    expected: saved({
      objectId: 'i1',
      likes: {
        __op: 'AddRelation',
        objects: ['u1', 'u2'].map((objectId) => ({ __type: 'Pointer', className: 'User2', objectId })),
      },
    }),
  },
  {
    name: 'the operation on a relation',
    code: seeing("[request.object.op('likes').relationsToAdd, request.object.op('likes').relationsToRemove]"),
    run: create({
      likes: { __op: 'AddRelation', objects: [{ __type: 'Pointer', className: 'User2', objectId: 'u1' }] },
    }),
    expected: saw(
      { likes: { __op: 'AddRelation', objects: [{ __type: 'Pointer', className: 'User2', objectId: 'u1' }] } },
      [['u1'], []],
    ),
  },
  {
    name: 'the ACL',
    code: before(`
      const acl = request.object.getACL(); acl.setRoleWriteAccess('admins', true); request.object.setACL(acl);
    `),
    run: create({ ACL: { '*': { read: true } } }),
    expected: saved({ ACL: { '*': { read: true }, 'role:admins': { write: true } } }),
  },
  {
    name: 'dates, pointers and files',
    code: before(`
      request.object.set('at', new Date(0)); request.object.set('owner', request.object.get('by'));
      request.object.get('photo').url();
    `),
    run: create({
      by: { __type: 'Pointer', className: 'P', objectId: 'p1' },
      photo: { __type: 'File', name: 'a', url: 'http://x/a' },
    }),
    expected: saved({
      by: { __type: 'Pointer', className: 'P', objectId: 'p1' },
      photo: { __type: 'File', name: 'a', url: 'http://x/a' },
      at: { __type: 'Date', iso: '1970-01-01T00:00:00.000Z' },
      owner: { __type: 'Pointer', className: 'P', objectId: 'p1' },
    }),
  },
  {
    name: 'the context travels on',
    code: before('request.context.more = request.context.given + 1;'),
    run: create({ a: 1 }, { request: { context: { given: 1 } } }),
    expected: saved({ a: 1 }, { given: 1, more: 2 }),
  },
  {
    name: 'a returned plain object is what is saved',
    code: before("return { object: { name: 'other' } };"),
    run: create({ name: 'x' }),
    expected: saved({ name: 'other' }),
  },
  {
    name: 'a returned request object is the object itself',
    code: before("request.object.set('b', 1); return request.object;"),
    run: create({ name: 'x' }),
    expected: saved({ name: 'x', b: 1 }),
  },
  {
    name: 'a query in a trigger',
    code: before(`
      if (await new Parse.Query('Item').equalTo('name', request.object.get('name')).count({
      useMasterKey: true })) throw new Parse.Error(137, 'taken');
    `),
    run: create({ name: 'x' }),
    answers: { 'GET /classes/Item': { results: [], count: 1 } },
    expectedAsks: [{ query: { where: { name: 'x' }, limit: 0, count: 1 }, auth: { master: true } }],
    expected: failed(137, 'taken'),
  },
  {
    name: 'a subclass by its constructor',
    code: `
      const Item = Parse.Object.extend('Item', { label: function () { return 'I:' + this.get('name'); } });
      Parse.Cloud.beforeSave(Item, (request) => { request.object.set('label', request.object.label()); });
    `,
    run: create({ name: 'x' }),
    expected: saved({ name: 'x', label: 'I:x' }),
  },
  {
    name: 'without a trigger the host gets nothing to change',
    code: '',
    run: create({ name: 'x' }),
    expected: { result: {} },
  },
  {
    name: 'a user by Parse.User',
    code: `
      Parse.Cloud.beforeSave(Parse.User, (request) => { request.object.set('upper',
      request.object.getUsername().toUpperCase()); });
    `,
    run: { kind: 'trigger', trigger: 'beforeSave', className: '_User', object: { username: 'ann', password: 'p' } },
    expected: saved({ username: 'ann', password: 'p', upper: 'ANN' }),
  },
]);

snippets('errors of beforeSave', [
  { name: 'an Error is 141', code: before("throw new Error('no');"), run: create({}), expected: failed(141, 'no') },
  { name: 'a text is 141', code: before("throw 'no';"), run: create({}), expected: failed(141, 'no') },
  {
    name: 'a Parse.Error keeps its code',
    code: before("throw new Parse.Error(142, 'too short');"),
    run: create({}),
    expected: failed(142, 'too short'),
  },
  {
    name: 'nothing',
    code: before('throw undefined;'),
    run: create({}),
    expected: failed(141, 'Script failed. Unknown error.'),
  },
  {
    name: 'an operation that does not fit the stored value',
    code: before(''),
    run: update({ name: { __op: 'Increment', amount: 1 } }),
    expected: saved({ objectId: 'i1', name: { __op: 'Increment', amount: 1 } }),
  },
  {
    name: "hosted Parse's error",
    code: hostedBefore("response.error('no');"),
    run: create({}),
    expected: failed(141, 'no'),
  },
  {
    name: "hosted Parse's error with a code",
    code: hostedBefore("response.error(142, 'no');"),
    run: create({}),
    expected: failed(142, 'no'),
  },
  {
    name: 'an exception of hosted code',
    code: hostedBefore('undefined.x;'),
    run: create({}),
    expected: failed(141, /Cannot read/),
  },
]);

snippets("beforeSave of hosted Parse's code", [
  {
    name: 'success',
    code: hostedBefore("request.object.set('a', 1); response.success();"),
    run: create({ name: 'x' }),
    expected: saved({ name: 'x', a: 1 }),
  },
  {
    name: 'a condition',
    code: hostedBefore(`
      if (!request.object.get('stars')) { response.error('stars are needed'); } else { response.success(); }
    `),
    run: create({ stars: 0 }),
    expected: failed(141, 'stars are needed'),
  },
  {
    name: 'after a query',
    code: hostedBefore(`
      new Parse.Query('Other').first({ success: function (o) { request.object.set('n', o.get('n'));
      response.success(); } });
    `),
    run: create({}),
    answers: { 'GET /classes/Other': { results: [{ objectId: 'o', n: 5 }] } },
    expected: saved({ n: 5 }),
  },
  {
    name: 'dirty() of one key',
    code: hostedBefore(`
      if (request.object.dirty('name')) { request.object.set('renamed', true); } response.success();
    `),
    run: update({ name: 'new' }),
    expected: saved({ objectId: 'i1', name: 'new', renamed: true }),
  },
  {
    name: 'the master key for this run',
    code: hostedBefore(`
      Parse.Cloud.useMasterKey(); new Parse.Query('Other').count().then(function () { response.success(); });
    `),
    run: create({}),
    answers: { 'GET /classes/Other': { results: [], count: 0 } },
    expectedAsks: [{ auth: { master: true } }],
    expected: saved({}),
  },
]);
