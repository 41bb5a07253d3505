// Saving, fetching and deleting objects, one and many.
import { call, hosted, modern, snippets } from '../snippets.mjs';

const failed = (code, message) => ({ error: { code, message } });
const pointer = (className, objectId) => ({ __type: 'Pointer', className, objectId });
const created = (objectId) => ({ status: 201, body: { objectId, createdAt: '2024-01-01T00:00:00.000Z' } });
const game = `const game = Parse.Object.fromJSON({
  className: 'Game', objectId: 'g1', score: 5, tags: ['a', 'b'], meta: { a: 1 },
});\n`;

snippets('saving', [
  {
    name: 'a new object',
    code: modern(`
      const g = new Parse.Object('Game', { a: 1 }); await g.save(); return [g.id, g.isNew(), g.dirty(),
      g.createdAt.toISOString(), g.updatedAt.toISOString(), g.get('set')];
    `),
    run: call(),
    answers: {
      'POST /classes/Game': {
        status: 201,
        body: { objectId: 'g1', createdAt: '2024-01-01T00:00:00.000Z', set: 'by a trigger' },
      },
    },
    expectedAsks: [{ method: 'POST', path: '/classes/Game', body: { a: 1 } }],
    expected: {
      result: ['g1', false, false, '2024-01-01T00:00:00.000Z', '2024-01-01T00:00:00.000Z', 'by a trigger'],
    },
  },
  {
    name: "the server's value of an operation",
    code: modern(`${game}game.increment('score'); await game.save(); return [game.get('score'), game.dirty()];`),
    run: call(),
    answers: { 'PUT /classes/Game/g1': { score: 100 } },
    expected: { result: [100, false] },
  },
  {
    name: 'a failed save keeps the changes',
    code: modern(`
      ${game}game.increment('score'); try { await game.save(); } catch (error) { game.increment('score', 5);
      return [error.code, game.get('score'), game.op('score').toJSON()]; }
    `),
    run: call(),
    answers: { 'PUT /classes/Game/g1': { status: 404, body: { code: 101, error: 'Object not found.' } } },
    expected: { result: [101, 11, { __op: 'Increment', amount: 6 }] },
  },
  {
    name: 'two saves of one object are one after the other',
    code: modern(`
      ${game}game.set('a', 1); const first = game.save(); game.set('b', 2); await Promise.all([first, game.save()]);
      return game.dirty();
    `),
    run: call(),
    answers: { 'PUT /classes/Game/g1': {} },
    expectedAsks: [{ body: { a: 1 } }, { body: { b: 2 } }],
    expected: { result: false },
  },
  {
    name: 'an unsaved child first',
    code: modern(`
      const g = new Parse.Object('Game'); g.set('owner', new Parse.Object('P', { n: 1 })); await g.save();
      return g.get('owner').id;
    `),
    run: call(),
    answers: { 'POST /classes/P': created('p1'), 'POST /classes/Game': created('g1') },
    expectedAsks: [
      { path: '/classes/P', body: { n: 1 } },
      { path: '/classes/Game', body: { owner: pointer('P', 'p1') } },
    ],
    expected: { result: 'p1' },
  },
  {
    name: 'an unsaved file first',
    code: modern(`
      const g = new Parse.Object('Game'); g.set('photo', new Parse.File('a.txt', { base64: 'aGk=' }, 'text/plain'));
      await g.save();
    `),
    run: call(),
    answers: {
      'POST /files/a.txt': { status: 201, body: { name: 'x_a.txt', url: 'http://x/a' } },
      'POST /classes/Game': created('g1'),
    },
    expectedAsks: [
      {
        path: '/files/a.txt',
        body: { base64: 'aGk=', _ContentType: 'text/plain', fileData: { metadata: {}, tags: {} } },
      },
      { body: { photo: { __type: 'File', name: 'x_a.txt', url: 'http://x/a' } } },
    ],
    expected: { result: undefined },
  },
  {
    name: 'a file that came by its name alone is stored already',
    code: modern(`
      const { photo } = request.params;
      await new Parse.Object('Game').save({ photo, list: [photo], map: { deep: photo } });
    `),
    run: call({ photo: { __type: 'File', name: 'a.txt' } }),
    answers: { 'POST /classes/Game': created('g1') },
    expectedAsks: [{
      body: {
        photo: { __type: 'File', name: 'a.txt' }, list: [{ __type: 'File', name: 'a.txt' }],
        map: { deep: { __type: 'File', name: 'a.txt' } },
      },
    }],
    expected: { result: undefined },
  },
  {
    name: 'callbacks are called for the object alone, not for a file that is saved with it',
    code: hosted(`
      var game = new Parse.Object('Game');
      game.set('photo', new Parse.File('a.txt', { base64: 'aGk=' }));
      game.save(null, { success: function (saved) { response.success(saved.className); } });
    `),
    run: call(),
    answers: { 'POST /files/a.txt': { name: 'n', url: 'u' }, 'POST /classes/Game': created('g1') },
    expected: { result: 'Game' },
  },
  {
    name: 'saveAll in a batch',
    code: modern(`
      const list = await Parse.Object.saveAll([1, 2].map((n) => new Parse.Object('Game', { n })), {
      useMasterKey: true }); return list.map((g) => g.id);
    `),
    run: call(),
    answers: { 'POST /batch': [[{ success: { objectId: 'a' } }, { success: { objectId: 'b' } }]] },
    expectedAsks: [{
      method: 'POST',
      path: '/batch',
      body: { requests: [1, 2].map((n) => ({ method: 'POST', path: '/parse/classes/Game', body: { n } })) },
      auth: { master: true },
    }],
    expected: { result: ['a', 'b'] },
  },
  {
    name: 'saveAll as a transaction',
    code: modern(`
      await Parse.Object.saveAll([1, 2].map((n) => new Parse.Object('Game', { n })), { transaction: true });
    `),
    run: call(),
    answers: {
      'POST /batch': (ask) => (ask.body.transaction ? [{ success: {} }, { success: {} }] : { status: 400, body: {} }),
    },
    expected: { result: undefined },
  },
  {
    name: 'saveAll where one fails',
    code: modern(`
      const list = [1, 2].map((n) => new Parse.Object('Game', { n })); try { await Parse.Object.saveAll(list);
      } catch (error) { return [error.code, error.message, list[0].id, list[1].isNew()]; }
    `),
    run: call(),
    answers: { 'POST /batch': [[{ success: { objectId: 'a' } }, { error: { code: 142, error: 'no' } }]] },
    expected: { result: [142, 'no', 'a', true] },
  },
  {
    name: 'saveAll of many in batches of twenty',
    code: modern("await Parse.Object.saveAll(Parse._.range(45).map((n) => new Parse.Object('Game', { n })));"),
    run: call(),
    answers: { 'POST /batch': (ask) => ask.body.requests.map((_, n) => ({ success: { objectId: `o${n}` } })) },
    expectedAsks: [{ path: '/batch' }, { path: '/batch' }, { path: '/batch' }],
    expected: { result: undefined },
  },
  {
    name: 'saveAll of unchanged objects',
    code: modern(`${game}await Parse.Object.saveAll([game]);`),
    run: call(),
    expectedAsks: [],
    expected: { result: undefined },
  },
  {
    name: 'a circle of new objects',
    code: modern(`
      const a = new Parse.Object('A'), b = new Parse.Object('B'); a.set('b', b); b.set('a', a);
      await Parse.Object.saveAll([a, b]);
    `),
    run: call(),
    expectedAsks: [],
    expected: failed(-1, 'Tried to save a batch with a cycle.'),
  },
  {
    name: 'a new user',
    code: modern(`
      const u = new Parse.User(); u.set('username', 'ann'); u.set('password', 'p'); await u.signUp(null, {
      useMasterKey: true }); return [u.id, u.getSessionToken(), u.has('password')];
    `),
    run: call(),
    answers: { 'POST /users': { status: 201, body: { objectId: 'u1', sessionToken: 'r:t' } } },
    expectedAsks: [{ path: '/users', body: { username: 'ann', password: 'p' }, auth: { master: true } }],
    expected: { result: ['u1', 'r:t', false] },
  },
]);

snippets('fetching and deleting', [
  {
    name: 'fetch',
    code: modern(`
      const g = Parse.Object.createWithoutData.call(Parse.Object.extend('Game'), 'g1'); g.set('x', 1);
      await g.fetch({ include: ['a', 'b.c'] }); return [g.get('score'), g.dirty()];
    `),
    run: call(),
    answers: { 'GET /classes/Game/g1': { objectId: 'g1', score: 9 } },
    expectedAsks: [{ method: 'GET', path: '/classes/Game/g1', query: { include: 'a,b.c' } }],
    expected: { result: [9, false] },
  },
  {
    name: 'fetch of a new object',
    code: modern("return new Parse.Object('Game').fetch();"),
    run: call(),
    expectedAsks: [],
    expected: failed(104, 'Object does not have an ID'),
  },
  {
    name: 'fetch with callbacks',
    code: hosted(`
      new (Parse.Object.extend('Game'))({ id: 'g1' }).fetch({ success: function (g) {
      response.success(g.get('score')); } });
    `),
    run: call(),
    answers: { 'GET /classes/Game/g1': { objectId: 'g1', score: 9 } },
    expected: { result: 9 },
  },
  {
    name: 'fetchAll',
    code: modern(`
      const [a, b] = ['a', 'b'].map((id) => Parse.Object.fromJSON({ className: 'Game', objectId: id }));
      await Parse.Object.fetchAll([a, b]); return [a.get('n'), b.get('n')];
    `),
    run: call(),
    answers: { 'GET /classes/Game': { results: [{ objectId: 'b', n: 2 }, { objectId: 'a', n: 1 }] } },
    expectedAsks: [{ query: { where: { objectId: { $in: ['a', 'b'] } }, limit: 2 } }],
    expected: { result: [1, 2] },
  },
  {
    name: 'fetchAll of one that is gone',
    code: modern("return Parse.Object.fetchAll([Parse.Object.fromJSON({ className: 'Game', objectId: 'a' })]);"),
    run: call(),
    answers: { 'GET /classes/Game': { results: [] } },
    expected: failed(101, 'All objects must exist on the server.'),
  },
  {
    name: 'fetchAllIfNeeded',
    code: modern(`${game}await Parse.Object.fetchAllIfNeeded([game]);`),
    run: call(),
    expectedAsks: [],
    expected: { result: undefined },
  },
  {
    name: 'destroy',
    code: modern(`${game}await game.destroy({ useMasterKey: true });`),
    run: call(),
    answers: { 'DELETE /classes/Game/g1': {} },
    expectedAsks: [{ method: 'DELETE', path: '/classes/Game/g1', auth: { master: true } }],
    expected: { result: undefined },
  },
  {
    name: 'destroyAll where one fails',
    code: modern(`
      const list = ['a', 'b'].map((id) => Parse.Object.fromJSON({ className: 'Game', objectId: id })); try {
      await Parse.Object.destroyAll(list); } catch (e) { return [e.code, e.errors.length, e.errors[0].object.id,
      e.errors[0].code]; }
    `),
    run: call(),
    answers: { 'POST /batch': [[{ success: {} }, { error: { code: 101, error: 'gone' } }]] },
    expected: { result: [600, 1, 'b', 101] },
  },
  {
    name: 'exists',
    code: modern(`${game}return game.exists();`),
    run: call(),
    answers: { 'GET /classes/Game': { results: [] } },
    expected: { result: false },
  },
]);
