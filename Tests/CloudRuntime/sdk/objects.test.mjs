// Objects, ACLs, geo points and roles without requests.
import { call, modern, snippets } from '../snippets.mjs';

const failed = (code, message) => ({ error: { code, message } });
const pointer = (className, objectId) => ({ __type: 'Pointer', className, objectId });
const game = `const game = Parse.Object.fromJSON({
  className: 'Game', objectId: 'g1', score: 5, tags: ['a', 'b'], meta: { a: 1 },
});\n`;
/** A row that checks the value of an expression. */
const local = (expression) => ({ code: modern(`${game}return (${expression});`), run: call(), expectedAsks: [] });

snippets('objects without requests', [
  {
    name: 'estimated values',
    ...local(`
      (game.increment('score'), game.add('tags', 'c'), [game.get('score'), game.get('tags'), game.has('x'),
      game.has('score')])
    `),
    expected: { result: [6, ['a', 'b', 'c'], false, true] },
  },
  {
    name: 'toJSON',
    ...local('game.toJSON()'),
    expected: { result: { objectId: 'g1', score: 5, tags: ['a', 'b'], meta: { a: 1 } } },
  },
  { name: 'toPointer', ...local('game.toPointer()'), expected: { result: pointer('Game', 'g1') } },
  {
    name: 'toPointer of a new one',
    ...local("new Parse.Object('Game').toPointer()"),
    expected: failed(141, 'Cannot create a pointer to an unsaved ParseObject'),
  },
  {
    name: 'dirty',
    ...local(`
      [game.dirty(), new Parse.Object('Game').dirty(), (game.set('x', 1), game.dirty('x')), game.dirtyKeys()]
    `),
    expected: { result: [false, true, true, ['x']] },
  },
  {
    name: 'attributes are frozen',
    ...local('[Object.isFrozen(game.attributes), game.attributes.score]'),
    expected: { result: [true, 5] },
  },
  {
    name: 'clone',
    ...local("((c) => [c.id === undefined, c.get('score'), c.className, c.dirty()])(game.clone())"),
    expected: { result: [true, 5, 'Game', true] },
  },
  {
    name: 'equals',
    ...local(`
      [game.equals(Parse.Object.fromJSON({ className: 'Game', objectId: 'g1' })),
      game.equals(new Parse.Object('Game'))]
    `),
    expected: { result: [true, false] },
  },
  {
    name: 'newInstance',
    ...local("(game.set('score', 1), [game.newInstance().get('score'), game.newInstance().id])"),
    expected: { result: [1, 'g1'] },
  },
  {
    name: 'op',
    ...local("(game.increment('score', 2), [game.op('score').toJSON(), game.op('x') === undefined])"),
    expected: { result: [{ __op: 'Increment', amount: 2 }, true] },
  },
  { name: 'clear', ...local('(game.clear(), Object.keys(game.attributes))'), expected: { result: [] } },
  { name: 'escape', ...local("(game.set('html', '<b>'), game.escape('html'))"), expected: { result: '&lt;b&gt;' } },
  {
    name: 'increment by a text',
    ...local("game.increment('score', 'x')"),
    expected: failed(141, 'Cannot increment by a non-numeric amount.'),
  },
  {
    name: 'add to a number',
    ...local("game.add('score', 1)"),
    expected: failed(141, 'Cannot add elements to a non-array value.'),
  },
  { name: 'a bad key', ...local("game.set('a b', 1)"), expected: { result: false } },
  {
    name: 'set with an error callback',
    ...local(`
      (() => { let said; game.set('a b', 1, { error: (object, error) => { said = [object === game, error.code];
      } }); return said; })()
    `),
    expected: { result: [true, 105] },
  },
  {
    name: 'an unsaved object in a relation',
    ...local("game.relation('r').add(new Parse.Object('P'))"),
    expected: failed(141, /unsaved Parse Object/),
  },
  {
    name: 'two classes in a relation',
    ...local("game.relation('r').add([Parse.User.createWithoutData('u'), Parse.Role.createWithoutData('r')])"),
    expected: failed(141, /one class/),
  },
  {
    name: 'fromJSON without a class',
    ...local('Parse.Object.fromJSON({})'),
    expected: failed(141, 'Cannot create an object without a className'),
  },
  {
    name: 'extend with methods and statics',
    ...local(`
      (() => { const G = Parse.Object.extend('Game', { twice: function () { return this.get('score') * 2; },
      initialize: function (a) { this.began = a && a.score; } }, { best: function () { return 'top'; } });
      const g = new G({ score: 2 }); return [g.twice(), g.began, G.best(), g instanceof Parse.Object,
      Parse.Object.fromJSON({ className: 'Game', score: 4 }).twice(), G.className]; })()
    `),
    expected: { result: [4, 2, 'top', true, 8, 'Game'] },
  },
  {
    name: 'extend in the style of Backbone',
    ...local(`
      (() => { const G = Parse.Object.extend({ className: 'Other', hi: function () { return 1; } });
      return [new G().hi(), new G().className]; })()
    `),
    expected: { result: [1, 'Other'] },
  },
  {
    name: 'a class of the language',
    ...local(`
      (() => { class Monster extends Parse.Object { constructor() { super('Monster'); } roar() {
      return this.get('sound'); } } Parse.Object.registerSubclass('Monster', Monster);
      return [Parse.Object.fromJSON({ className: 'Monster', sound: 'grr' }).roar(), new Monster().className]; })()
    `),
    expected: { result: ['grr', 'Monster'] },
  },
  {
    name: 'validate() of a subclass refuses',
    ...local(`
      (() => { const G = Parse.Object.extend('V', { validate: function (a) { if (a.score < 0) return 'negative';
      } }); return [new G().set('score', -1), new G().set('score', 1) !== false]; })()
    `),
    expected: { result: [false, true] },
  },
  {
    name: 'ACL',
    ...local(`
      (() => { const a = new Parse.ACL(Parse.User.createWithoutData('u1')); a.setPublicReadAccess(true);
      a.setRoleWriteAccess('admins', true); a.setReadAccess('u2', true); a.setReadAccess('u2', false);
      return [a.toJSON(), a.getPublicReadAccess(), a.getWriteAccess('u1'), a.getRoleReadAccess('admins'),
      a.equals(new Parse.ACL(a.toJSON()))]; })()
    `),
    expected: {
      result: [
        { u1: { read: true, write: true }, '*': { read: true }, 'role:admins': { write: true } },
        true,
        true,
        false,
        true,
      ],
    },
  },
  { name: 'a bad right of an ACL', ...local("new Parse.ACL({ x: { fly: true } })"), expected: failed(141, /fly/) },
  {
    name: 'distances',
    ...local(`
      ((a, b) => [Math.round(a.kilometersTo(b)), Math.round(a.milesTo(b)), a.equals(b)])(new Parse.GeoPoint([0, 0]),
      new Parse.GeoPoint({ latitude: 0, longitude: 90 }))
    `),
    expected: { result: [10008, 6218, false] },
  },
  {
    name: 'a place outside of the world',
    ...local('new Parse.GeoPoint(91, 0)'),
    expected: failed(141, /from -90 to 90/),
  },
  {
    name: 'a point in a polygon',
    ...local(`
      ((p) => [p.containsPoint(new Parse.GeoPoint(0.5, 0.5)), p.containsPoint(new Parse.GeoPoint(2,
      2))])(new Parse.Polygon([[0, 0], [0, 1], [1, 1], [1, 0]]))
    `),
    expected: { result: [true, false] },
  },
  {
    name: 'a role',
    ...local(`
      (() => { const r = new Parse.Role('admins', new Parse.ACL()); let bad; try { r.setName('a/b'); } catch (e) {
      bad = e.code; } return [r.getName(), bad, r.getUsers() instanceof Parse.Relation]; })()
    `),
    expected: { result: ['admins', -1, true] },
  },
  {
    name: 'a stored role keeps its name',
    ...local("Parse.Object.fromJSON({ className: '_Role', objectId: 'r', name: 'a' }).set('name', 'b')"),
    expected: { result: false },
  },
]);
