// Object operations, as saves write them.
import { call, modern, snippets } from '../snippets.mjs';

const pointer = (className, objectId) => ({ __type: 'Pointer', className, objectId });
const game = `const game = Parse.Object.fromJSON({
  className: 'Game', objectId: 'g1', score: 5, tags: ['a', 'b'], meta: { a: 1 },
});\n`;
const saving = (body) => modern(`${game}${body}\nawait game.save();`);
const written = (body) => ({
  run: call(),
  answers: { 'PUT /classes/Game/g1': {} },
  expectedAsks: [{ method: 'PUT', path: '/classes/Game/g1', body }],
  expected: { result: undefined },
});

snippets('operations on the wire', [
  {
    name: 'set',
    code: saving("game.set('a', 1); game.set({ b: [1], c: { d: null } });"),
    ...written({ a: 1, b: [1], c: { d: null } }),
  },
  { name: 'unset', code: saving("game.unset('score');"), ...written({ score: { __op: 'Delete' } }) },
  {
    name: 'increments add up',
    code: saving("game.increment('score'); game.increment('score', 4); game.decrement('score', 2);"),
    ...written({ score: { __op: 'Increment', amount: 3 } }),
  },
  {
    name: 'increment after unset',
    code: saving("game.unset('score'); game.increment('score', 4);"),
    ...written({ score: 4 }),
  },
  {
    name: 'add',
    code: saving("game.add('tags', 'c'); game.addAll('tags', ['d', 'e']);"),
    ...written({ tags: { __op: 'Add', objects: ['c', 'd', 'e'] } }),
  },
  {
    name: 'addUnique',
    code: saving("game.addUnique('tags', 'a'); game.addAllUnique('tags', ['c', 'c']);"),
    ...written({ tags: { __op: 'AddUnique', objects: ['a', 'c'] } }),
  },
  {
    name: 'remove',
    code: saving("game.remove('tags', 'a'); game.removeAll('tags', ['b']);"),
    ...written({ tags: { __op: 'Remove', objects: ['a', 'b'] } }),
  },
  {
    name: 'remove from what is set',
    code: saving("game.set('tags', ['x', 'y']); game.remove('tags', 'x');"),
    ...written({ tags: ['y'] }),
  },
  {
    name: 'dates, places, pointers',
    code: saving(`
      game.set({ at: new Date(0), where: new Parse.GeoPoint(1, 2), owner: Parse.User.createWithoutData('u1') });
    `),
    ...written({
      at: { __type: 'Date', iso: '1970-01-01T00:00:00.000Z' },
      where: { __type: 'GeoPoint', latitude: 1, longitude: 2 },
      owner: pointer('_User', 'u1'),
    }),
  },
  {
    name: 'a polygon',
    code: saving("game.set('area', new Parse.Polygon([[0, 0], [0, 1], [1, 1]]));"),
    ...written({ area: { __type: 'Polygon', coordinates: [[0, 0], [0, 1], [1, 1]] } }),
  },
  {
    name: 'relations',
    code: saving(`
      const p = (id) => Parse.Object.fromJSON({ className: 'P', objectId: id }); const r = game.relation('friends');
      r.add([p('a'), p('b')]); r.remove(p('b')); r.remove(p('c'));
    `),
    ...written({
      friends: {
        __op: 'Batch',
        ops: [
          { __op: 'AddRelation', objects: [pointer('P', 'a')] },
          { __op: 'RemoveRelation', objects: [pointer('P', 'b'), pointer('P', 'c')] },
        ],
      },
    }),
  },
  {
    name: 'a change in place',
    code: saving("game.get('meta').b = 2; game.get('tags').push('z');"),
    ...written({ meta: { a: 1, b: 2 }, tags: ['a', 'b', 'z'] }),
  },
  {
    name: 'createdAt cannot be set',
    code: saving("game.set({ createdAt: new Date(), updatedAt: 'x', a: 1 });"),
    ...written({ a: 1 }),
  },
  {
    name: 'an ACL as JSON',
    code: saving("game.set('ACL', { '*': { read: true } });"),
    ...written({ ACL: { '*': { read: true } } }),
  },
  {
    name: 'attributes and options of save',
    code: modern(`${game}await game.save({ a: 1 }, { useMasterKey: true, context: { k: 1 } });`),
    run: call(),
    answers: { 'PUT /classes/Game/g1': {} },
    expectedAsks: [{ body: { a: 1 }, auth: { master: true, sessionToken: null }, context: { k: 1 } }],
    expected: { result: undefined },
  },
  {
    name: 'key, value and options of save',
    code: modern(`${game}await game.save('a', 1, { sessionToken: 'r:x' });`),
    run: call(),
    answers: { 'PUT /classes/Game/g1': {} },
    expectedAsks: [{ body: { a: 1 }, auth: { master: false, sessionToken: 'r:x' } }],
    expected: { result: undefined },
  },
]);
