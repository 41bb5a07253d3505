// The triggers other than beforeSave.
import { snippets, trigger } from '../snippets.mjs';

const failed = (code, message) => ({ error: { code, message } });
const then = '2024-01-01T00:00:00.000Z';
const stored = {
  objectId: 'i1', name: 'old', count: 3, tags: ['a'], meta: { a: 1 }, createdAt: then, updatedAt: then,
};

snippets('triggers after writes and around deletes', [
  {
    name: 'afterSave of a create',
    code: `
      Parse.Cloud.afterSave('Item', (r) => console.log(r.object.id, r.object.existed(), r.object.dirty(),
      r.object.createdAt instanceof Date));
    `,
    run: trigger('afterSave', { object: stored }),
    expected: { result: {} },
    logs: [['log', 'i1 false false true']],
  },
  {
    name: 'afterSave of an update',
    code: `
      Parse.Cloud.afterSave('Item', (r) => console.log(r.object.existed(), r.original.get('name'),
      r.object.get('name')));
    `,
    run: trigger('afterSave', { object: { ...stored, name: 'new' }, original: stored }),
    expected: { result: {} },
    logs: [['log', 'true old new']],
  },
  {
    name: 'afterSave that fails',
    code: "Parse.Cloud.afterSave('Item', () => { throw new Error('late'); });",
    run: trigger('afterSave', { object: stored }),
    expected: failed(141, 'late'),
  },
  {
    name: "afterSave of hosted Parse's code has one parameter",
    code: `
      Parse.Cloud.afterSave('Item', function (request) { var q = new Parse.Query('Post');
      q.get(request.object.get('post').id, { success: function (post) { post.increment('comments'); post.save();
      } }); });
    `,
    run: trigger('afterSave', {
      object: { ...stored, post: { __type: 'Pointer', className: 'Post', objectId: 'p1' } },
    }),
    answers: { 'GET /classes/Post': { results: [{ objectId: 'p1' }] }, 'PUT /classes/Post/p1': {} },
    expected: { result: {} },
  },
  {
    name: 'beforeDelete',
    code: "Parse.Cloud.beforeDelete('Item', (r) => { if (r.object.get('count') > 0) throw 'has items'; });",
    run: trigger('beforeDelete', { object: stored }),
    expected: failed(141, 'has items'),
  },
  {
    name: "beforeDelete of hosted Parse's code",
    code: "Parse.Cloud.beforeDelete('Item', function (request, response) { response.success(); });",
    run: trigger('beforeDelete', { object: stored }),
    expected: { result: {} },
  },
  {
    name: 'beforeDelete gives its context on',
    code: "Parse.Cloud.beforeDelete('Item', (r) => { r.context.a = 1; });",
    run: trigger('beforeDelete', { object: stored }),
    expected: { result: { context: { a: 1 } } },
  },
  {
    name: 'afterDelete deletes what belonged to it',
    code: `
      Parse.Cloud.afterDelete('Item',
      async (r) => Parse.Object.destroyAll(await new Parse.Query('Part').equalTo('item', r.object).find()));
    `,
    run: trigger('afterDelete', { object: stored }),
    answers: {
      'GET /classes/Part': { results: [{ objectId: 'a' }, { objectId: 'b' }] },
      'POST /batch': [[{ success: {} }, { success: {} }]],
    },
    expectedAsks: [
      { query: { where: { item: { __type: 'Pointer', className: 'Item', objectId: 'i1' } } } },
      {
        method: 'POST',
        path: '/batch',
        body: {
          requests: ['a', 'b'].map((id) => ({ method: 'DELETE', path: `/parse/classes/Part/${id}`, body: {} })),
        },
      },
    ],
    expected: { result: {} },
  },
]);

snippets('find triggers', [
  {
    name: 'beforeFind changes the query',
    code: "Parse.Cloud.beforeFind('Item', (r) => { r.query.equalTo('active', true).limit(5).descending('name'); });",
    run: trigger('beforeFind', { query: { where: { a: 1 }, limit: 100, keys: 'a,b', include: 'owner' } }),
    expected: {
      result: { query: { where: { a: 1, active: true }, limit: 5, keys: 'a,b', include: 'owner', order: '-name' } },
    },
  },
  {
    name: 'beforeFind returns another query',
    code: "Parse.Cloud.beforeFind('Item', (r) => Parse.Query.or(r.query, new Parse.Query('Item').equalTo('b', 2)));",
    run: trigger('beforeFind', { query: { where: { a: 1 } } }),
    expected: { result: { query: { where: { $or: [{ a: 1 }, { b: 2 }] } } } },
  },
  {
    name: 'beforeFind answers with objects',
    code: `
      Parse.Cloud.beforeFind('Item', () => [Parse.Object.fromJSON({ className: 'Item', objectId: 'x', a: 1 })]);
    `,
    run: trigger('beforeFind', { query: {} }),
    expected: { result: { objects: [{ objectId: 'x', a: 1 }] } },
  },
  {
    name: 'beforeFind answers with one object',
    code: "Parse.Cloud.beforeFind('Item', () => Parse.Object.fromJSON({ className: 'Item', objectId: 'x' }));",
    run: trigger('beforeFind', { query: {} }),
    expected: { result: { objects: [{ objectId: 'x' }] } },
  },
  {
    name: 'beforeFind knows a get and a count',
    code: "Parse.Cloud.beforeFind('Item', (r) => { r.context.seen = [r.isGet, r.count, r.query.className]; });",
    run: trigger('beforeFind', { query: { limit: 0, count: 1 }, isGet: true, count: true }),
    expected: { result: { query: { where: {}, limit: 0, count: 1 }, context: { seen: [true, true, 'Item'] } } },
  },
  {
    name: 'beforeFind refuses',
    code: "Parse.Cloud.beforeFind('Item', (r) => { if (!r.user) throw new Parse.Error(209, 'log in'); });",
    run: trigger('beforeFind', { query: {} }),
    expected: failed(209, 'log in'),
  },
  {
    name: 'afterFind changes objects',
    code: `
      Parse.Cloud.afterFind('Item', (r) => { r.objects.forEach((o) => o.set('seen',
      true).increment('count').unset('tags')); });
    `,
    run: trigger('afterFind', { query: {}, objects: [stored] }),
    expected: { result: { objects: [(({ tags, ...rest }) => ({ ...rest, count: 4, seen: true }))(stored)] } },
  },
  {
    name: 'afterFind returns fewer',
    code: "Parse.Cloud.afterFind('Item', async (r) => r.objects.filter((o) => o.get('count') > 2));",
    run: trigger('afterFind', { objects: [stored, { objectId: 'i2', count: 1 }] }),
    expected: { result: { objects: [stored] } },
  },
  {
    name: 'afterFind keeps included objects',
    code: "Parse.Cloud.afterFind('Item', (r) => { r.objects[0].get('owner').get('name'); });",
    run: trigger('afterFind', {
      objects: [{ objectId: 'i', owner: { __type: 'Object', className: 'P', objectId: 'p', name: 'Ann' } }],
    }),
    expected: {
      result: {
        objects: [{ objectId: 'i', owner: { __type: 'Object', className: 'P', objectId: 'p', name: 'Ann' } }],
      },
    },
  },
  {
    name: 'afterFind that returns no array',
    code: "Parse.Cloud.afterFind('Item', () => 5);",
    run: trigger('afterFind', { objects: [] }),
    expected: failed(141, 'A find trigger must return an array of objects.'),
  },
  {
    name: 'afterFind that fails',
    code: "Parse.Cloud.afterFind('Item', () => { throw 'no'; });",
    run: trigger('afterFind', { objects: [] }),
    expected: failed(141, 'no'),
  },
]);

const user = (name) => ({
  kind: 'trigger', trigger: name, className: '_User', object: { objectId: 'u', username: 'ann' },
});
snippets('triggers of users, files and config', [
  {
    name: 'beforeLogin refuses',
    code: "Parse.Cloud.beforeLogin((r) => { if (r.object.getUsername() === 'ann') throw new Error('banned'); });",
    run: user('beforeLogin'),
    expected: failed(141, 'banned'),
  },
  {
    name: 'afterLogin',
    code: "Parse.Cloud.afterLogin(Parse.User, (r) => console.log(r.object.id));",
    run: user('afterLogin'),
    expected: { result: {} },
    logs: [['log', 'u']],
  },
  {
    name: 'afterLogout',
    code: "Parse.Cloud.afterLogout((r) => console.log(r.object instanceof Parse.Session));",
    run: { kind: 'trigger', trigger: 'afterLogout', className: '_Session', object: { objectId: 's' } },
    expected: { result: {} },
    logs: [['log', 'true']],
  },
  {
    name: 'beforePasswordResetRequest',
    code: "Parse.Cloud.beforePasswordResetRequest(() => { throw new Parse.Error(205, 'not you'); });",
    run: user('beforePasswordResetRequest'),
    expected: failed(205, 'not you'),
  },
  {
    name: 'beforeSaveFile keeps the file',
    code: `
      Parse.Cloud.beforeSaveFile((r) => { r.file.addMetadata('size', r.fileSize); r.file.addTag('by', 'me'); });
    `,
    run: {
      kind: 'trigger',
      trigger: 'beforeSaveFile',
      className: '@File',
      object: { name: 'a.txt', base64: 'aGk=', contentType: 'text/plain' },
      fileSize: 2,
    },
    expected: { result: { file: { name: 'a.txt', metadata: { size: 2 }, tags: { by: 'me' } } } },
  },
  {
    name: 'beforeSave of Parse.File gives another file',
    code: `
      Parse.Cloud.beforeSave(Parse.File, async (r) => new Parse.File('b.txt', { base64: await r.file.getData() },
      'text/x'));
    `,
    run: {
      kind: 'trigger',
      trigger: 'beforeSaveFile',
      className: '@File',
      object: { name: 'a.txt', base64: 'aGk=' },
    },
    expected: { result: { file: { name: 'b.txt', base64: 'aGk=', contentType: 'text/x', metadata: {}, tags: {} } } },
  },
  {
    name: 'a file that is refused with a text',
    code: "Parse.Cloud.beforeSave(Parse.File, () => { throw 'no'; });",
    run: { kind: 'trigger', trigger: 'beforeSaveFile', className: '@File', object: { name: 'a.txt' } },
    expected: failed(130, 'no'),
  },
  {
    name: 'a file whose removal is refused without a word',
    code: 'Parse.Cloud.beforeDeleteFile(() => { throw undefined; });',
    run: { kind: 'trigger', trigger: 'beforeDeleteFile', className: '@File', object: { name: 'a.txt', url: 'u' } },
    expected: failed(153, 'Could not delete file.'),
  },
  {
    name: 'beforeSave of Parse.Config',
    code: "Parse.Cloud.beforeSave(Parse.Config, (r) => { if (r.object.get('limit') > 9) throw 'too much'; });",
    run: { kind: 'trigger', trigger: 'beforeSave', className: '@Config', object: { params: { limit: 10 } } },
    expected: failed(141, 'too much'),
  },
]);

const connecting = (frame = {}) => ({
  kind: 'trigger', trigger: 'beforeConnect', className: '@Connect', event: 'connect', clients: 2, subscriptions: 1,
  useMasterKey: false, ...frame,
});
const ann = { objectId: 'u1', username: 'ann', sessionToken: 'r:1' };
const event = (name, frame = {}) => trigger('afterEvent', {
  event: name, object: { __type: 'Object', className: 'Item', ...stored }, clients: 1, subscriptions: 1,
  useMasterKey: false, sendEvent: true, ...frame,
});

snippets('triggers of live queries', [
  {
    name: 'beforeConnect lets connect',
    code: `
      Parse.Cloud.beforeConnect((r) => console.log(r.triggerName, r.event, r.clients, r.subscriptions, r.sessionToken,
      r.useMasterKey, r.user.id, r.installationId));
    `,
    run: connecting({ sessionToken: 'r:1', request: { user: ann, installationId: 'phone' } }),
    expected: { result: {} },
    logs: [['log', 'beforeConnect connect 2 1 r:1 false u1 phone']],
  },
  {
    name: 'beforeConnect refuses with a text',
    code: "Parse.Cloud.beforeConnect((r) => { if (r.clients > 1) throw 'full'; });",
    run: connecting(),
    expected: failed(141, 'full'),
  },
  {
    name: 'beforeConnect refuses with a code',
    code: "Parse.Cloud.beforeConnect(async (r) => { if (!r.user) throw new Parse.Error(9004, 'log in'); });",
    run: connecting(),
    expected: failed(9004, 'log in'),
  },
  {
    name: 'a validator of beforeConnect',
    code: 'Parse.Cloud.beforeConnect(() => {}, { requireUser: true });',
    run: connecting(),
    expected: failed(142, 'Validation failed. Please login to continue.'),
  },
  {
    name: 'beforeSubscribe adds a constraint and chooses fields',
    code: `
      Parse.Cloud.beforeSubscribe('Item', (r) => { r.query.equalTo('owner', r.user).select('name', 'count'); });
    `,
    run: trigger('beforeSubscribe', {
      query: { className: 'Item', where: { count: 3 }, watch: 'count' }, request: { user: ann },
    }),
    expected: {
      result: {
        query: {
          where: { count: 3, owner: { __type: 'Pointer', className: '_User', objectId: 'u1' } },
          keys: 'name,count',
          watch: 'count',
        },
      },
    },
  },
  {
    name: 'beforeSubscribe takes back what the client wanted',
    code: "Parse.Cloud.beforeSubscribe('Item', () => new Parse.Query('Item').watch('name'));",
    run: trigger('beforeSubscribe', { query: { className: 'Item', where: { count: 3 }, keys: 'a,b' } }),
    expected: { result: { query: { where: {}, watch: 'name' } } },
  },
  {
    name: 'beforeSubscribe refuses',
    code: "Parse.Cloud.beforeSubscribe('Item', (r) => { if (!r.master) throw new Parse.Error(119, 'not you'); });",
    run: trigger('beforeSubscribe', { query: { where: {} } }),
    expected: failed(119, 'not you'),
  },
  {
    name: 'a validator of beforeSubscribe, and the master key that it lets pass',
    code: `
      Parse.Cloud.beforeSubscribe('Item', (r) => { r.query.limit(1); },
      { requireUser: true, skipWithMasterKey: true });
    `,
    run: trigger('beforeSubscribe', { query: { where: { a: 1 } }, request: { master: true } }),
    expected: { result: { query: { where: { a: 1 } } } },
  },
  {
    name: 'afterLiveQueryEvent changes what is told',
    code: `
      Parse.Cloud.afterLiveQueryEvent('Item', (r) => { r.object.set('seen', r.event).unset('tags');
      r.original.set('name', 'hidden'); });
    `,
    run: event('update', { original: { __type: 'Object', className: 'Item', objectId: 'i1', name: 'older' } }),
    expected: {
      result: {
        object: (({ tags, ...rest }) => ({ ...rest, seen: 'update' }))(stored),
        original: { objectId: 'i1', name: 'hidden' },
        sendEvent: true,
      },
    },
  },
  {
    name: 'afterLiveQueryEvent withholds an event',
    code: "Parse.Cloud.afterLiveQueryEvent('Item', (r) => { r.sendEvent = r.event !== 'delete'; });",
    run: event('delete'),
    expected: { result: { object: stored, sendEvent: false } },
  },
  {
    name: 'afterLiveQueryEvent changes nothing that it only looks at',
    code: `
      Parse.Cloud.afterLiveQueryEvent('Item', (r) => { console.log(r.user.id, r.object.get('meta').a, r.sendEvent); });
    `,
    run: event('create', { request: { user: ann } }),
    expected: { result: { object: stored, sendEvent: true } },
    logs: [['log', 'u1 1 true']],
  },
  {
    name: 'afterLiveQueryEvent refuses',
    code: "Parse.Cloud.afterLiveQueryEvent('Item', () => { throw new Error('not now'); });",
    run: event('create'),
    expected: failed(141, 'not now'),
  },
  {
    name: 'code without the trigger changes nothing',
    code: "Parse.Cloud.afterLiveQueryEvent('Other', () => { throw 'no'; });",
    run: event('create'),
    expected: { result: {} },
  },
]);
