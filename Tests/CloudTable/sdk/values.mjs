// Subclasses, ACLs, relations and kinds of values in cloud code.
import { call, containing, find, get, master, modern, others, post, result, stored, subject } from '../rows.mjs';

const one = (fields = {}) => post('/classes/Item_', fields, { keep: { id: 'objectId' } });
/** The code's answer, with the stored object as `item`, and the stored object afterwards. */
const row = (name, fields, body, answer, after, more = {}) => ({
  name,
  before: [one(fields)],
  ask: call(),
  answer: answer?.code ? answer : result(answer),
  code: modern(`const item = await new Parse.Query('Item_').first();\n${body}`),
  ...(after ? { after: [{ ...get('/classes/Item_/<id>'), answer: { ...stored, ...after } }] } : {}),
  ...more,
});
const plain = (name, body, answer, more = {}) => ({
  name,
  ask: call(),
  answer: answer?.code ? answer : result(answer),
  code: modern(body),
  ...more,
});

export default [
  ...subject('subclasses', 'JS guide, Parse.Object', [
    plain(
      'extend with methods',
      `const Monster = Parse.Object.extend('Item_', { hasHumans() { return this.get('humans') > 0; } });
      await new Monster().save({ humans: 2 });
      return (await new Parse.Query(Monster).first()).hasHumans();`,
      true,
    ),
    plain(
      'extend with statics',
      `const Monster = Parse.Object.extend('Item_', {}, { spawn: (n) => { const one = new Monster();
        one.set('n', n); return one; } });
      return Monster.spawn(3).get('n');`,
      3,
    ),
    plain(
      'initialize',
      `const Monster = Parse.Object.extend('Item_', { initialize() { this.loud = true; } });
        return new Monster().loud;`,
      true,
    ),
    plain(
      'class and registerSubclass',
      `class Monster extends Parse.Object { constructor() { super('Item_');
        } roar() { return 'roar ' + this.get('n'); } }
      Parse.Object.registerSubclass('Item_', Monster);
      await new Monster().save({ n: 1 });
      return (await new Parse.Query('Item_').first()).roar();`,
      'roar 1',
    ),
    plain(
      'validate refuses',
      `const Monster = Parse.Object.extend('Item_', { validate(fields) {
        if (fields.n < 0) return 'Less than nothing.'; } });
      return new Monster().save({ n: -1 });`,
      { code: 141, error: containing('Less than nothing.') },
      { source: 'JS SDK, Parse.Object.validate' },
    ),
  ]),
  ...subject('ACL', 'JS guide, Security', [
    plain(
      'of a user alone',
      `const item = new Parse.Object('Item_', { n: 1 });
      item.setACL(new Parse.ACL(request.user));
      await item.save(null, { sessionToken: request.user.getSessionToken() });
      return item.getACL().toJSON();`,
      { '<ann>': { read: true, write: true } },
      {
        ask: call({}, { as: 'ann' }),
        after: [{ ...find('Item_', {}, { as: 'ben' }), answer: { results: [] } }],
      },
    ),
    plain(
      'public read, a role writes',
      `const acl = new Parse.ACL();
      acl.setPublicReadAccess(true);
      acl.setRoleWriteAccess('staff_', true);
      return [acl.toJSON(), acl.getPublicReadAccess(), acl.getRoleWriteAccess('staff_'), acl.getPublicWriteAccess()];`,
      [{ '*': { read: true }, 'role:staff_': { write: true } }, true, true, false],
    ),
    plain(
      'a write without rights',
      `const item = await new Parse.Query('Item_').first();
      return item.save({ n: 2 });`,
      { code: 101, ...others },
      { before: [post('/classes/Item_', { n: 1, ACL: { '*': { read: true } } }, master)] },
    ),
    plain(
      'the master key may',
      `const item = await new Parse.Query('Item_').first({ useMasterKey: true });
      await item.save({ n: 2 }, { useMasterKey: true });
      return item.get('n');`,
      2,
      { before: [post('/classes/Item_', { n: 1, ACL: {} }, master)] },
    ),
  ]),
  ...subject('relations', 'JS guide, Relational Data', [
    row(
      'add and count',
      {},
      `const fans = await Parse.Object.saveAll([1, 2].map((n) => new Parse.Object('Fan_', { n })));
      item.relation('fans').add(fans);
      await item.save();
      return item.relation('fans').query().count();`,
      2,
    ),
    row(
      'remove',
      {},
      `const fans = await Parse.Object.saveAll([1, 2].map((n) => new Parse.Object('Fan_', { n })));
      item.relation('fans').add(fans);
      await item.save();
      item.relation('fans').remove(fans[0]);
      await item.save();
      return (await item.relation('fans').query().find()).map((fan) => fan.get('n'));`,
      [2],
    ),
    row(
      'an unsaved object',
      {},
      "item.relation('fans').add(new Parse.Object('Fan_')); return item.save();",
      { code: 141, ...others },
      null,
      { source: 'JS SDK, Parse.Relation.add' },
    ),
  ]),
  ...subject('values', 'JS guide, Data Types', [
    row(
      'a place and back',
      {},
      `await item.save({ at: new Parse.GeoPoint({ latitude: 1, longitude: 2 }) });
      return (await new Parse.Query('Item_').first()).get('at').longitude;`,
      2,
      { at: { __type: 'GeoPoint', latitude: 1, longitude: 2 } },
    ),
    plain('a distance', 'return Math.round(new Parse.GeoPoint(0, 0).kilometersTo(new Parse.GeoPoint(0, 1)));', 111, {
      source: 'JS guide, GeoPoints',
    }),
    plain(
      'a place outside of the world',
      'return new Parse.GeoPoint(91, 0);',
      { code: 141, ...others },
      { source: 'JS guide, GeoPoints' },
    ),
    row(
      'a polygon and back',
      {},
      `await item.save({ area: new Parse.Polygon([[0, 0], [0, 1], [1, 1], [1, 0]]) });
      return (await new Parse.Query('Item_').first()).get('area').containsPoint(new Parse.GeoPoint(0.5, 0.5));`,
      true,
      null,
      { source: 'JS guide, GeoPoints' },
    ),
    row(
      'a query by a polygon',
      {
        area: {
          __type: 'Polygon',
          coordinates: [
            [0, 0],
            [0, 1],
            [1, 1],
            [1, 0],
            [0, 0],
          ],
        },
      },
      "return new Parse.Query('Item_').polygonContains('area', new Parse.GeoPoint(0.5, 0.5)).count();",
      1,
      null,
      { source: 'JS guide, GeoPoints' },
    ),
    row(
      'a date and back',
      {},
      "await item.save({ at: new Date(0) }); return (await new Parse.Query('Item_').first()).get('at').getTime();",
      0,
    ),
    row(
      'an object of objects',
      {},
      "await item.save({ box: { a: [{ b: null }] } }); return (await new Parse.Query('Item_').first()).get('box');",
      { a: [{ b: null }] },
      { box: { a: [{ b: null }] } },
    ),
  ]),
];
