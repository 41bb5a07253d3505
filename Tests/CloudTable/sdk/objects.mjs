// Parse.Object in cloud code: operations, saving, subclasses, relations.
import { call, error, get, master, modern, others, pointer, post, result, stored, subject } from '../rows.mjs';

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
  ...subject('operations', 'JS guide, Objects', [
    row('set and save', { a: 1 }, "await item.save({ a: 2 }); return item.get('a');", 2, { a: 2 }),
    row('unset', { a: 1, b: 2 }, "item.unset('a'); await item.save(); return item.has('a');", false, { b: 2 }),
    row('increment', { n: 1 }, "item.increment('n'); await item.save(); return item.get('n');", 2, { n: 2 }),
    row('increment by', { n: 1 }, "item.increment('n', 5); await item.save(); return item.get('n');", 6, { n: 6 }),
    row(
      'decrement',
      { n: 5 },
      "item.decrement('n', 2); await item.save(); return item.get('n');",
      3,
      { n: 3 },
      { source: 'JS SDK, Parse.Object.decrement' },
    ),
    row('add', { list: ['a'] }, "item.add('list', 'a'); await item.save(); return item.get('list');", ['a', 'a'], {
      list: ['a', 'a'],
    }),
    row(
      'addUnique',
      { list: ['a'] },
      "item.addUnique('list', 'a'); item.addUnique('list', 'b'); await item.save(); return item.get('list');",
      ['a', 'b'],
      { list: ['a', 'b'] },
    ),
    row(
      'addAll',
      { list: [1] },
      "item.addAll('list', [2, 3]); await item.save(); return item.get('list');",
      [1, 2, 3],
      { list: [1, 2, 3] },
      { source: 'JS SDK, Parse.Object.addAll' },
    ),
    row('remove', { list: [1, 2, 1] }, "item.remove('list', 1); await item.save(); return item.get('list');", [2], {
      list: [2],
    }),
    row(
      'two increments are one',
      { n: 0 },
      "item.increment('n'); item.increment('n', 2); await item.save(); return item.get('n');",
      3,
      { n: 3 },
    ),
    row(
      'a change in place of a list',
      { list: [1] },
      "item.get('list').push(2); await item.save(); return item.get('list');",
      [1, 2],
      { list: [1, 2] },
      { source: 'JS SDK, Parse.Object.dirty' },
    ),
    row(
      'a field of an object',
      { box: { a: 1, b: 2 } },
      "item.set('box.a', 5); await item.save(); return item.get('box');",
      { a: 5, b: 2 },
      { box: { a: 5, b: 2 } },
      { source: 'JS SDK, nested keys' },
    ),
    row(
      'dirty',
      { a: 1 },
      "item.set('a', 2); return [item.dirty(), item.dirty('a'), item.dirty('b'), item.dirtyKeys()];",
      [true, true, false, ['a']],
    ),
    row('clean after a save', { a: 1 }, 'await item.save({ a: 2 }); return item.dirty();', false),
    row(
      'revert',
      { a: 1, b: 1 },
      "item.set({ a: 2, b: 2 }); item.revert('a'); return [item.get('a'), item.get('b')];",
      [1, 2],
    ),
    row(
      'has, id, createdAt',
      { a: 1 },
      'return [item.has("a"), item.has("b"), item.id.length, item.createdAt instanceof Date];',
      [true, false, 10, true],
    ),
    row('clone', { a: 1 }, "const copy = item.clone(); return [copy.id === undefined, copy.get('a')];", [true, 1]),
    row('toJSON', { a: 1 }, 'return item.toJSON();', { ...stored, a: 1 }),
    row('toPointer', {}, 'return item.toPointer();', pointer('Item_', '<any id>')),
    row(
      'equals',
      {},
      `return item.equals(Parse.Object.createWithoutData(item.id,
        'Item_')) || item.id === Parse.Object.fromJSON(item.toPointer()).id;`,
      true,
    ),
    row(
      'a class is kept to its types',
      { n: 1 },
      "return item.save({ n: 'text' });",
      error(111, '<any text>'),
      { n: 1 },
      { source: 'protocol 14' },
    ),
    row(
      'increment of a text',
      { a: 'x' },
      "item.increment('a'); return item.save();",
      { code: 141, ...others },
      { a: 'x' },
      { source: 'JS SDK, IncrementOp' },
    ),
  ]),
  ...subject('saving', 'JS guide, Objects', [
    plain(
      'a new object',
      `const item = await new Parse.Object('Item_').save({ a: 1 });
        return [item.id.length, item.isNew(), item.existed()];`,
      [10, false, false],
    ),
    plain(
      'a new object with fields',
      "const item = new Parse.Object('Item_', { a: 1 }); await item.save(); return item.get('a');",
      1,
    ),
    plain(
      'an unsaved child is saved with it',
      `const child = new Parse.Object('Child_', { n: 1 });
      const item = await new Parse.Object('Item_').save({ child });
      return [child.id === item.get('child').id, await new Parse.Query('Child_').count()];`,
      [true, 1],
    ),
    plain(
      'saveAll',
      `await Parse.Object.saveAll([1, 2, 3].map((n) => new Parse.Object('Item_', { n })));
      return new Parse.Query('Item_').count();`,
      3,
    ),
    plain(
      'saveAll where one fails',
      `const items = [new Parse.Object('Item_', { n: 1 }), new Parse.Object('Item_', { 'n': 2 })];
      items[1].id = 'nobodyhere';
      try { await Parse.Object.saveAll(items); return 'saved';
        } catch (error) { return [error.code, await new Parse.Query('Item_').count()]; }`,
      [101, 1],
    ),
    plain(
      'saveAll in a transaction',
      `const items = [new Parse.Object('Item_', { n: 1 }), new Parse.Object('Item_', { n: 2 })];
      items[1].id = 'nobodyhere';
      try { await Parse.Object.saveAll(items, { transaction: true }); return 'saved'; }
      catch (error) { return new Parse.Query('Item_').count(); }`,
      0,
      { source: 'JS guide, Batch Operations; protocol 3' },
    ),
    plain(
      'destroyAll',
      `const items = await Parse.Object.saveAll([1, 2, 3].map((n) => new Parse.Object('Item_', { n })));
      await Parse.Object.destroyAll(items.slice(1));
      return new Parse.Query('Item_').count();`,
      1,
    ),
    plain(
      'destroyAll where one is gone',
      `const items = await Parse.Object.saveAll([1, 2].map((n) => new Parse.Object('Item_', { n })));
      await items[0].destroy();
      try { await Parse.Object.destroyAll(items); return 'all';
        } catch (error) { return [error.code, error.errors.length]; }`,
      [600, 1],
      { source: 'JS SDK, Parse.Object.destroyAll: an aggregate error' },
    ),
    row('destroy', {}, 'await item.destroy(); return new Parse.Query("Item_").count();', 0),
    plain(
      'destroy of one that is gone',
      "const item = new Parse.Object('Item_'); item.id = 'nobodyhere'; return item.destroy();",
      error(101, '<any text>'),
    ),
    row(
      'fetch',
      { a: 1 },
      "const other = new Parse.Object('Item_'); other.id = item.id; await other.fetch(); return other.get('a');",
      1,
    ),
    plain(
      'fetch of one that is not there',
      "const item = new Parse.Object('Item_'); item.id = 'nobodyhere'; return item.fetch();",
      error(101, 'Object not found.'),
    ),
    row(
      'fetchAll',
      { a: 1 },
      `const other = Parse.Object.fromJSON(item.toPointer()); await Parse.Object.fetchAll([other]);
        return other.get('a');`,
      1,
    ),
    row(
      'fetchAllIfNeeded',
      { a: 1 },
      `const other = Parse.Object.fromJSON(item.toPointer()); await Parse.Object.fetchAllIfNeeded([other, item]);
        return other.get('a');`,
      1,
    ),
    row(
      'fetchWithInclude',
      { a: 1, friends: [] },
      `const team = await new Parse.Object('Team_').save({ name: 'red' });
      await item.save({ team });
      const other = await Parse.Object.fromJSON(item.toPointer()).fetchWithInclude('team');
      return other.get('team').get('name');`,
      'red',
      null,
      { source: 'JS SDK, fetchWithInclude' },
    ),
    plain(
      'a field name that is none',
      "return new Parse.Object('Item_').save({ 'a b': 1 });",
      error(105, '<any text>'),
    ),
    plain('a class name that is none', "return new Parse.Object('9Items').save({ a: 1 });", error(103, '<any text>')),
    plain(
      'a class that is closed',
      "return new Parse.Object('Item_').save({ a: 1 });",
      { code: 119, ...others },
      {
        before: [post('/schemas/Item_', { className: 'Item_', classLevelPermissions: { create: {} } }, master)],
      },
    ),
    plain(
      'a session of nobody',
      "return new Parse.Object('_Session').save({ a: 1 });",
      { code: 209, ...others },
      { source: 'protocol 5' },
    ),
    plain(
      'with success and error of hosted Parse',
      `return new Promise((done) => {
      new Parse.Object('Item_').save({ a: 1 }, { success: (item) => done(item.get('a')), error: () => done('failed') });
    });`,
      1,
    ),
    plain(
      'the error callback has the object and the error',
      `return new Promise((done) => {
      new Parse.Object('Item_').save({ 'a b': 1 }, {
        success: () => done('saved'), error: (item, error) => done([item.className, error.code]) });
    });`,
      ['Item_', 105],
      { source: "hosted Parse's JS guide, Saving Objects" },
    ),
  ]),
];
