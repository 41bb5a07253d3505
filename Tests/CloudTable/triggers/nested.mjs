// Changes of members and elements by path, by the client and by the code in one write.
import { call, created, find, get, modern, others, post, put, result, stored, subject } from '../rows.mjs';

/** A beforeSave that only affects updates, so that rows can create the objects that they change. */
const onUpdate = (body) => `Parse.Cloud.beforeSave('Item_', async (request) => {
  const { object, original } = request;\nif (!original) return;\n${body}\n});`;
const one = (fields) => post('/classes/Item_', fields, { keep: { id: 'objectId' } });
const reads = (fields) => ({ ...get('/classes/Item_/<id>'), answer: { ...stored, ...fields } });
const increment = (amount) => ({ __op: 'Increment', amount });
const list = (name, ...objects) => ({ __op: name, objects });
const unset = { __op: 'Delete' };

/** A row of an update: the object before, the client's change, the code's change, and the object after both. */
const both = (name, before, client, code, after, more = {}) => ({
  name,
  before: [one(before)],
  code: onUpdate(code),
  ask: put('/classes/Item_/<id>', client),
  answer: { updatedAt: '<any date>', ...others },
  after: [reads(after)],
  ...more,
});
const m = { m: { a: 1, b: 2 } };

export default [
  ...subject('members', 'Parse Server #6358, #7005; docs/guides/cloud-code.md, beforeSave', [
    both(
      'two increments',
      m,
      { 'm.a': increment(5) },
      "object.increment('m.a');",
      { m: { a: 7, b: 2 } },
      {
        answer: { updatedAt: '<any date>', m: { a: 7, b: 2 } },
      },
    ),
    both('increments of two members', m, { 'm.a': increment(5) }, "object.increment('m.b');", { m: { a: 6, b: 3 } }),
    both('a set and an increment', m, { 'm.a': 10 }, "object.increment('m.a');", { m: { a: 11, b: 2 } }),
    both('the whole value and an increment', m, { m: { a: 7 } }, "object.increment('m.a');", { m: { a: 8 } }),
    both('an increment and the whole value', m, { 'm.a': increment(5) }, "object.set('m', { x: 1 });", { m: { x: 1 } }),
    both('an increment and a set', m, { 'm.a': increment(5) }, "object.set('m.a', 3);", { m: { a: 3, b: 2 } }),
    both('a removal and an increment', m, { 'm.a': unset }, "object.increment('m.a');", { m: { a: 1, b: 2 } }),
    both('an increment and a removal', m, { 'm.a': increment(5) }, "object.unset('m.a');", { m: { b: 2 } }),
    both('the removal of the whole value', m, { 'm.a': increment(5) }, "object.unset('m');", {}),
    both('a removal by the code alone', m, { n: 1 }, "object.unset('m.b');", { m: { a: 1 }, n: 1 }),
    both('two adds', { m: { l: [1] } }, { 'm.l': list('Add', 2) }, "object.add('m.l', 3);", { m: { l: [1, 2, 3] } }),
    both(
      'two unique adds',
      { m: { l: [1] } },
      { 'm.l': list('AddUnique', 1, 2) },
      "object.addUnique('m.l', 2); object.addUnique('m.l', 3);",
      { m: { l: [1, 2, 3] } },
    ),
    both('two removes', { m: { l: [1, 2, 3] } }, { 'm.l': list('Remove', 1) }, "object.remove('m.l', 3);", {
      m: { l: [2] },
    }),
    both('adds of two kinds', { m: { l: [1] } }, { 'm.l': list('Add', 2) }, "object.addUnique('m.l', 2);", {
      m: { l: [1, 2] },
    }),
    both('of a field: adds of two kinds', { l: [1] }, { l: list('Add', 2) }, "object.addUnique('l', 2);", {
      l: [1, 2],
    }),
    both('of a field: an add and a remove', { l: [1] }, { l: list('Add', 2) }, "object.remove('l', 1);", { l: [2] }),
    both(
      'three levels',
      { m: { n: { o: 1, p: 1 } } },
      { 'm.n.o': increment(5), 'm.n.q': 'new' },
      "object.increment('m.n.o'); object.increment('m.n.p', 2);",
      { m: { n: { o: 7, p: 3, q: 'new' } } },
    ),
    both('a member of a member that the client sets', m, { 'm.a': { x: 1 } }, "object.increment('m.a.x');", {
      m: { a: { x: 2 }, b: 2 },
    }),
    both(
      'what the code reads',
      m,
      { 'm.a': increment(5) },
      "object.set('seen', [object.get('m').a, original.get('m').a, object.dirty('m'), object.dirty('n')]);",
      { m: { a: 6, b: 2 }, seen: [6, 1, true, false] },
    ),
    both('a change in place', m, { 'm.a': increment(5) }, "object.get('m').z = 1; object.increment('m.a');", {
      m: { a: 7, b: 2, z: 1 },
    }),
    both(
      'a member taken back',
      m,
      { 'm.a': increment(5), 'm.b': 5 },
      "object.revert('m.a');",
      { m: { a: 1, b: 5 } },
      {
        answer: { updatedAt: '<any date>', m: { a: 1, b: 5 } },
      },
    ),
    both(
      'the field taken back',
      m,
      { 'm.a': increment(5), 'm.b': 5, n: 1 },
      "object.revert('m');",
      { ...m, n: 1 },
      {
        answer: { updatedAt: '<any date>', ...m },
      },
    ),
    {
      // The trigger runs for both before the first is written: only operations preserve both changes.
      ...both('two of one batch', m, {}, "object.increment('m.a');", { m: { a: 13, b: 2 } }),
      ask: post('/batch', {
        requests: [5, 5].map((amount) => ({
          method: 'PUT',
          path: '/parse/classes/Item_/<id>',
          body: { 'm.a': increment(amount) },
        })),
      }),
      answer: [
        { success: { updatedAt: '<any date>', m: { a: 7, b: 2 } } },
        { success: { updatedAt: '<any date>', m: { a: 13, b: 2 } } },
      ],
    },
    {
      ...both('of a save in the code', m, {}, "object.increment('m.a');", { m: { a: 7, b: 2 } }),
      code: `${onUpdate("object.increment('m.a');")}
        Parse.Cloud.define('f_', async ({ params }) => {
          const item = await new Parse.Query('Item_').get(params.id);
          item.increment('m.a', 5);
          const pending = [item.get('m').a, item.toJSON().m];
          await item.save();
          return [...pending, item.get('m')];
        });`,
      ask: call({ id: '<id>' }),
      answer: result([6, { a: 6, b: 2 }, { a: 7, b: 2 }]),
    },
  ]),
  ...subject('elements', 'Parse SDK JS #1343, #2120; MongoDB, dotted paths', [
    both('an idle hook', { l: [{ q: 1 }, { q: 2 }] }, { 'l.0.q': increment(5) }, '', { l: [{ q: 6 }, { q: 2 }] }),
    both(
      'the code sees a list',
      { l: [{ q: 1 }, { q: 2 }] },
      { 'l.0.q': increment(5) },
      "object.set('sum', object.get('l').reduce((sum, { q }) => sum + q, 0));",
      { l: [{ q: 6 }, { q: 2 }], sum: 8 },
    ),
    both(
      'both change an element',
      { l: [{ q: 1 }, { q: 2 }] },
      { 'l.0.q': increment(5) },
      "object.increment('l.0.q'); object.set('l.1.seen', true);",
      { l: [{ q: 7 }, { q: 2, seen: true }] },
    ),
    both(
      'the client adds, the code changes an element',
      { l: [{ q: 1 }] },
      { l: list('Add', { q: 9 }) },
      "object.increment('l.0.q');",
      { l: [{ q: 2 }, { q: 9 }] },
    ),
    both(
      'the client changes an element, the code adds',
      { l: [{ q: 1 }] },
      { 'l.0.q': 5 },
      "object.add('l', { q: 9 });",
      { l: [{ q: 5 }, { q: 9 }] },
    ),
    both('a list in a member', { m: { l: [1, 2] } }, { 'm.l.1': 5 }, "object.set('n', object.get('m').l.length);", {
      m: { l: [1, 5] },
      n: 2,
    }),
    both('past the end', { l: [1] }, { 'l.2': 3 }, "object.set('seen', object.get('l'));", {
      l: [1, null, 3],
      seen: [1, null, 3],
    }),
    both('an element removed', { l: [1, 2] }, { 'l.0': unset }, "object.set('seen', object.get('l'));", {
      l: [null, 2],
      seen: [null, 2],
    }),
    {
      name: 'in the state of the SDK',
      code: modern(`const steps = [];
        const item = await new Parse.Object('Item_').save({ l: [{ c: 1 }, { c: 2 }], m: { a: 1, b: 2 } });
        item.set('l.1.c', 9); item.increment('m.a', 4);
        steps.push(item.get('l').map(({ c }) => c), item.toJSON().m, JSON.parse(JSON.stringify(item)).l);
        await item.save();
        steps.push(item.get('l'), item.get('m'));
        item.unset('l.0.c'); await item.save();
        item.add('l', 3); await item.save();
        steps.push(item.get('l'), (await new Parse.Query('Item_').get(item.id)).get('l'));
        return steps;`),
      ask: call(),
      answer: result([
        [1, 9],
        { a: 5, b: 2 },
        [{ c: 1 }, { c: 9 }],
        [{ c: 1 }, { c: 9 }],
        { a: 5, b: 2 },
        [{}, { c: 9 }, 3],
        [{}, { c: 9 }, 3],
      ]),
    },
    {
      name: 'afterSave sees a list',
      before: [one({ l: [{ q: 1 }] })],
      code: `Parse.Cloud.afterSave('Item_', ({ object, original }) => original && new Parse.Object('Heard_').save(
        { isList: Array.isArray(object.get('l')), l: object.get('l') }));`,
      ask: put('/classes/Item_/<id>', { 'l.0.q': increment(5) }),
      answer: { updatedAt: '<any date>', l: [{ q: 6 }] },
      after: [{ ...find('Heard_'), answer: { results: [{ ...stored, isList: true, l: [{ q: 6 }] }] } }],
    },
    {
      name: 'a create with a path',
      code: `Parse.Cloud.beforeSave('Item_', ({ object }) => { object.increment('m.a'); });`,
      ask: one({ 'm.a': increment(5), 'm.b': 1 }),
      status: 201,
      answer: { ...created, m: { a: 6, b: 1 } },
      after: [reads({ m: { a: 6, b: 1 } })],
    },
  ]),
];
