// The package `parse` in the code's folder replaces the runtime's own SDK. Uses a double of that package.
import fs from 'node:fs';
import { call, hosted, modern, snippets, trigger } from '../snippets.mjs';

const double = fs.readFileSync(new URL('../doubles/parse.js', import.meta.url), 'utf8');

/** A folder with this code as main.js, and with the package. */
const folder = (code, text = double) => ({
  'main.js': code,
  'node_modules/parse/package.json': '{"name":"parse","version":"5.3.0","main":"node.js"}',
  'node_modules/parse/node.js': text,
});
const legacy = double.replace('const LEGACY = false', 'const LEGACY = true');
const of = (body) => folder(modern(body));

snippets("the folder's own SDK: what it is and how it asks", [
  {
    name: 'it is the global one and what require() gives',
    code: folder(`
      const given = [require('parse/node'), require('parse'), require('parse/node').Parse];
      ${modern('return [Parse.isDouble, given.every((one) => one === Parse), typeof Parse.Cloud.httpRequest];')}
    `),
    run: call(),
    expected: { result: [true, true, 'function'] },
  },
  {
    name: 'requests go to the host with the rights of their options, and no key is there',
    code: of(`
      Parse.initialize('other', 'js', 'a-key');
      Parse.masterKey = 'a-key';
      const note = await new Parse.Object('Note', { text: 'a' }).save({ useMasterKey: true, context: { by: 1 } });
      const found = await new Parse.Query('Note').equalTo('text', 'a').find({ sessionToken: 'r:1' });
      return [note.id, note.answered, found[0].get('text'), Parse.masterKey === undefined, Parse.applicationId];
    `),
    run: call(),
    answers: {
      'POST /classes/Note': { status: 201, body: { objectId: 'n1' } },
      'GET /classes/Note': { results: [{ objectId: 'n1', text: 'a' }] },
    },
    expectedAsks: [
      { path: '/classes/Note', body: { text: 'a' }, auth: { master: true }, context: { by: 1 } },
      { path: '/classes/Note', query: { where: { text: 'a' } }, auth: { master: false, sessionToken: 'r:1' } },
    ],
    expected: { result: ['n1', 201, 'a', true, 'satchel'] },
  },
  {
    name: 'without options it is nobody, and the master key for the rest of a call after useMasterKey()',
    code: of(`
      await new Parse.Query('A').find();
      Parse.Cloud.useMasterKey();
      await new Parse.Query('B').find();
      await new Parse.Query('C').find({ useMasterKey: false });
    `),
    run: call(),
    answers: Object.fromEntries(['A', 'B', 'C'].map((name) => [`GET /classes/${name}`, { results: [] }])),
    expectedAsks: [
      { path: '/classes/A', auth: { master: false, sessionToken: null } },
      { path: '/classes/B', auth: { master: true } },
      { path: '/classes/C', auth: { master: false } },
    ],
    expected: { result: undefined },
  },
  {
    name: 'paths of a batch begin with the mount, wherever the code thinks that the server is',
    code: of(`
      Parse.serverURL = 'https://elsewhere.example/1';
      await Parse.Object.saveAll([new Parse.Object('Note', { a: 1 })], { useMasterKey: true });
    `),
    run: call(),
    answers: { 'POST /batch': [{ success: { objectId: 'n1' } }] },
    expectedAsks: [{
      path: '/batch', body: { requests: [{ method: 'POST', path: '/parse/classes/Note', body: { a: 1 } }] },
    }],
    expected: { result: undefined },
  },
  {
    name: 'functions and jobs are called over the host; a job resolves with its id',
    code: of("return [await Parse.Cloud.run('g', { a: 1 }), await Parse.Cloud.startJob('j', {})];"),
    run: call(),
    answers: {
      'POST /functions/g': { result: { __type: 'Date', iso: '2020-01-01T00:00:00.000Z' } },
      'POST /jobs/j': { status: 200, body: {}, headers: { 'X-Parse-Job-Status-Id': 'job1' } },
    },
    expected: { result: [{ __type: 'Date', iso: '2020-01-01T00:00:00.000Z' }, 'job1'] },
  },
  {
    name: 'a file is deleted with a request of its own, and nothing is sent elsewhere',
    code: of(`
      await new Parse.File('a.txt').destroy({ useMasterKey: true });
      try {
        await Parse.CoreManager.getRESTController().ajax('GET', 'https://elsewhere.example/x', '', {});
      } catch (error) {
        return error.message;
      }
    `),
    run: call(),
    answers: { 'DELETE /files/a.txt': {} },
    expectedAsks: [{ method: 'DELETE', path: '/files/a.txt', auth: { master: true } }],
    expected: {
      result: 'The SDK can send requests to http://127.0.0.1:1337/parse only, not to https://elsewhere.example/x.',
    },
  },
  {
    name: 'errors of the server and of the code are its errors',
    code: of(`
      try {
        await new Parse.Query('A').find();
      } catch (error) {
        throw new Parse.Error(error instanceof Parse.Error ? 9001 : 9002, error.code + error.message);
      }
    `),
    run: call(),
    answers: { 'GET /classes/A': { status: 403, body: { code: 119, error: 'no' } } },
    expected: { error: { code: 9001, message: '119no' } },
  },
]);

snippets("the folder's own SDK: what handlers get", [
  {
    name: 'parameters, the user and results are of its classes',
    code: of(`
      const { params: { note, when }, user } = request;
      return [note instanceof Parse.Object, note.objectId, when.iso, user instanceof Parse.User, user.getSessionToken(),
        note];
    `),
    run: call(
      {
        note: { __type: 'Pointer', className: 'Note', objectId: 'n1' },
        when: { __type: 'Date', iso: '2020-01-01T00:00:00.000Z' },
      },
      { user: { objectId: 'u1', sessionToken: 'r:1' } }),
    expected: {
      result: [
        true, 'n1', '2020-01-01T00:00:00.000Z', true, 'r:1',
        { __type: 'Object', className: 'Note', objectId: 'n1' },
      ],
    },
  },
  {
    name: 'beforeSave: what the client and the code change is the write, and what the code takes back is not',
    code: folder(`Parse.Cloud.beforeSave('Item', ({ object, original }) => {
      if (!(object instanceof Parse.Object) || object.get('count') !== 7 || original.get('count') !== 5) throw 'no';
      object.increment('count');
      object.set('keys', object.dirtyKeys().sort().join());
      object.revert('wish');
      object.unset('hint');
    });`),
    run: trigger('beforeSave', {
      object: { count: { __op: 'Increment', amount: 2 }, wish: 1, 'deep.part': 2 },
      original: { objectId: 'i1', count: 5, hint: 'x' }, dirtyKeys: ['count', 'wish', 'deep.part'],
    }),
    expected: {
      result: {
        object: {
          count: { __op: 'Increment', amount: 3 }, 'deep.part': 2, keys: 'count,deep.part,wish',
          hint: { __op: 'Delete' }, objectId: 'i1',
        },
        context: {},
      },
    },
  },
  {
    name: 'beforeSave refuses with its error',
    code: folder("Parse.Cloud.beforeSave('Item', () => { throw new Parse.Error(9001, 'full'); });"),
    run: trigger('beforeSave', { object: {} }),
    expected: { error: { code: 9001, message: 'full' } },
  },
  {
    name: 'afterSave knows whether the object was there',
    code: folder("Parse.Cloud.afterSave('Item', ({ object }) => { if (object.existed()) throw 'it was there'; });"),
    run: trigger('afterSave', { object: { objectId: 'i1' } }),
    expected: { result: {} },
  },
  {
    name: 'beforeFind changes the query',
    code: folder("Parse.Cloud.beforeFind('Item', ({ query }) => { query.equalTo('shown', true); });"),
    run: trigger('beforeFind', { query: { where: { a: 1 }, limit: 5 } }),
    expected: { result: { query: { where: { a: 1, shown: true }, limit: 5 } } },
  },
  {
    name: 'afterFind: fields are values, also those that were counted up',
    code: folder(`Parse.Cloud.afterFind('Item', ({ objects }) => {
      objects[0].increment('seen');
      objects[0].unset('hint');
      return objects;
    });`),
    run: trigger('afterFind', {
      objects: [{ objectId: 'i1', seen: 1, hint: 'x', createdAt: '2020-01-01T00:00:00.000Z' }], query: {},
    }),
    expected: { result: { objects: [{ objectId: 'i1', seen: 2, createdAt: '2020-01-01T00:00:00.000Z' }] } },
  },
  {
    name: 'a file may be another one',
    code: folder(`Parse.Cloud.beforeSave(Parse.File, ({ file }) =>
      new Parse.File('b.txt', { base64: Buffer.from(file.name()).toString('base64') }, 'text/plain'));`),
    run: { kind: 'trigger', trigger: 'beforeSaveFile', className: '@File', object: { name: 'a.txt', base64: 'eA==' } },
    expected: {
      result: { file: { name: 'b.txt', metadata: {}, tags: {}, base64: 'YS50eHQ=', contentType: 'text/plain' } },
    },
  },
  {
    name: 'Config',
    code: folder(`Parse.Cloud.beforeSave(Parse.Config, ({ object, original }) => {
      object.attributes.sum = object.get('a') + original.get('a');
      return object;
    });`),
    run: {
      kind: 'trigger', trigger: 'beforeSave', className: '@Config',
      object: { params: { a: 2 }, masterKeyOnly: { a: true } }, original: { params: { a: 1 } },
    },
    expected: { result: { params: { a: 2, sum: 3 }, masterKeyOnly: { a: true } } },
  },
  {
    name: 'roles of a validator',
    code: folder(`Parse.Cloud.define('f', () => 'in', { requireAnyUserRoles: ['staff'] });`),
    run: call({}, { user: { objectId: 'u1' } }),
    answers: {
      'GET /classes/_Role': [{ results: [{ objectId: 'r1', name: 'staff' }] }, { results: [] }, { results: [] }],
    },
    expected: { result: 'in' },
  },
]);

snippets('an SDK of before 2.0, with promises of its own', [
  {
    name: 'callbacks get the answer and its status',
    code: folder(hosted(`
      new Parse.Object('Note', { a: 1 }).save({ useMasterKey: true }).then(function (note) {
        response.success([note.id, note.answered]);
      });
    `), legacy),
    run: call(),
    answers: { 'POST /classes/Note': { status: 201, body: { objectId: 'n1' } } },
    expected: { result: ['n1', 201] },
  },
  {
    name: 'what a callback throws is the end of its call',
    code: folder(hosted("new Parse.Query('A').find().then(function () { undefinedName(); });"), legacy),
    run: call(),
    answers: { 'GET /classes/A': { results: [] } },
    expected: { error: { code: 141, message: 'undefinedName is not defined' } },
  },
  {
    name: 'a query without fromJSON',
    code: folder("Parse.Cloud.beforeFind('Item', ({ query }) => { query.equalTo('shown', true); });", legacy),
    run: trigger('beforeFind', { query: { where: { a: 1 }, limit: 5 } }),
    expected: { result: { query: { where: { a: 1, shown: true }, limit: 5 } } },
  },
]);

const numbers = (size, first = 0) => Array.from({ length: size }, (_, at) => first + at);
const longOperators = folder(`
  const Parse = require('parse/node');
  Parse.Op = { ...Parse.Op, Relation: class RelationOp { toJSON() { return this; } } };
  Parse.Cloud.beforeSave('Item', ({ object }) => {
    const { _targetClassName: of, relationsToAdd: added, relationsToRemove: removed } = object.get('fans') || {};
    throw new Parse.Error(142, JSON.stringify([object.get('list').length, of, added && added.length, removed && removed.length]));
  });
`);
const fans = (size, letter) => numbers(size).map((number) => (
  { __type: 'Pointer', className: 'Fan', objectId: `${letter}${number}` }
));
const longWrite = (object) => trigger('beforeSave', {
  object: { objectId: 'x1', ...object }, original: { objectId: 'x1', list: numbers(10) }, dirtyKeys: Object.keys(object),
});

snippets('operators that are too long for the package', [
  {
    name: 'AddUnique',
    code: longOperators,
    run: longWrite({ list: { __op: 'AddUnique', objects: numbers(3000, 5) } }),
    expected: { error: { code: 142, message: '[3005,null,null,null]' } },
  },
  {
    name: 'Remove',
    code: longOperators,
    run: longWrite({ list: { __op: 'Remove', objects: numbers(3000, 5) } }),
    expected: { error: { code: 142, message: '[5,null,null,null]' } },
  },
  {
    name: 'a Batch on a relation',
    code: longOperators,
    run: longWrite({
      list: [],
      fans: {
        __op: 'Batch',
        ops: [{ __op: 'AddRelation', objects: fans(1200, 'a') }, { __op: 'RemoveRelation', objects: fans(300, 'a') }],
      },
    }),
    expected: { error: { code: 142, message: '[0,"Fan",900,300]' } },
  },
]);
