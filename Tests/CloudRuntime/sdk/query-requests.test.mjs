// The requests of queries, and how their answers are used.
import { call, modern, snippets } from '../snippets.mjs';

const failed = (code, message) => ({ error: { code, message } });

/** Objects with ascending ids, as a batch of each() returns them. */
const many = (from, count) => Array.from({ length: count }, (_, n) => (
  { objectId: `o${String(from + n).padStart(4, '0')}` }
));

/** The query string of an aggregate with these stages. */
const pipeline = (stages) => `pipeline=${encodeURIComponent(JSON.stringify(stages))}`;

snippets('requests of queries', [
  {
    name: 'find with the master key',
    code: modern("return (await new Parse.Query('Game').find({ useMasterKey: true })).length;"),
    run: call(),
    answers: { 'GET /classes/Game': { results: [{ objectId: 'a' }] } },
    expectedAsks: [{
      method: 'GET',
      path: '/classes/Game',
      query: { where: {} },
      auth: { master: true, sessionToken: null, installationId: null },
    }],
    expected: { result: 1 },
  },
  {
    name: 'find as the caller in hosted Parse\'s way',
    code: modern("await new Parse.Query('Game').find();"),
    config: { actAsCaller: true },
    run: call({}, { user: { objectId: 'u', sessionToken: 'r:u' } }),
    answers: { 'GET /classes/Game': { results: [] } },
    expectedAsks: [{ auth: { master: false, sessionToken: 'r:u' } }],
    expected: { result: undefined },
  },
  {
    name: 'useMasterKey() for the run, and not where options say no',
    code: modern(`
      Parse.Cloud.useMasterKey(); await new Parse.Query('A').find(); await new Parse.Query('B').find({
      useMasterKey: false });
    `),
    run: call(),
    answers: { 'GET /classes/A': { results: [] }, 'GET /classes/B': { results: [] } },
    expectedAsks: [{ auth: { master: true } }, { auth: { master: false } }],
    expected: { result: undefined },
  },
  {
    name: 'useMasterKey() of one run is not that of the next',
    code: `
      Parse.Cloud.define('g', () => { Parse.Cloud.useMasterKey(); });
    ` + modern("await new Parse.Query('A').find();"),
    run: [{ kind: 'function', name: 'g' }, call()],
    answers: { 'GET /classes/A': { results: [] } },
    expectedAsks: [{ auth: { master: false } }],
    expected: { result: undefined },
  },
  {
    name: 'useMasterKey() at the top is for every run',
    code: `Parse.Cloud.useMasterKey(); ${modern("await new Parse.Query('A').find();")}`,
    run: call(),
    answers: { 'GET /classes/A': { results: [] } },
    expectedAsks: [{ auth: { master: true } }],
    expected: { result: undefined },
  },
  {
    name: 'first of none',
    code: modern("return (await new Parse.Query('Game').first()) === undefined;"),
    run: call(),
    answers: { 'GET /classes/Game': { results: [] } },
    expectedAsks: [{ query: { where: {}, limit: 1 } }],
    expected: { result: true },
  },
  {
    name: 'get',
    code: modern("return (await new Parse.Query('Game').include('o').get('g1')).get('n');"),
    run: call(),
    answers: { 'GET /classes/Game': { results: [{ objectId: 'g1', n: 3 }] } },
    expectedAsks: [{ query: { where: { objectId: 'g1' }, include: 'o', limit: 1 } }],
    expected: { result: 3 },
  },
  {
    name: 'get of none',
    code: modern("return new Parse.Query('Game').get('g1');"),
    run: call(),
    answers: { 'GET /classes/Game': { results: [] } },
    expected: failed(101, 'Object not found.'),
  },
  {
    name: 'count',
    code: modern("return new Parse.Query('Game').equalTo('a', 1).count();"),
    run: call(),
    answers: { 'GET /classes/Game': { results: [], count: 12 } },
    expectedAsks: [{ query: { where: { a: 1 }, limit: 0, count: 1 } }],
    expected: { result: 12 },
  },
  {
    name: 'withCount',
    code: modern(`
      const { results, count } = await new Parse.Query('Game').withCount().limit(1).find(); return [results[0].id,
      count];
    `),
    run: call(),
    answers: { 'GET /classes/Game': { results: [{ objectId: 'a' }], count: 9 } },
    expected: { result: ['a', 9] },
  },
  {
    name: 'a redirected class',
    code: modern(`
      const q = Parse.Object.fromJSON({ className: 'Game', objectId: 'g1' }).relation('fans').query();
      return (await q.find())[0].className;
    `),
    run: call(),
    answers: { 'GET /classes/Game': { results: [{ objectId: 'u' }], className: '_User' } },
    expected: { result: '_User' },
  },
  {
    name: 'distinct',
    code: modern("return new Parse.Query('Game').equalTo('a', 1).distinct('name');"),
    run: call(),
    answers: { 'GET /aggregate/Game': { results: ['x', 'y'] } },
    expectedAsks: [{
      path: '/aggregate/Game',
      query: `distinct=name&where=${encodeURIComponent('{"a":1}')}`,
      auth: { master: true },
    }],
    expected: { result: ['x', 'y'] },
  },
  {
    name: 'aggregate',
    code: modern(`
      return new Parse.Query('Game').equalTo('a', 1).aggregate([{ $group: { _id: '$name', total: {
      $sum: '$score' } } }]);
    `),
    run: call(),
    answers: { 'GET /aggregate/Game': { results: [{ objectId: 'x', total: 3 }] } },
    expectedAsks: [{
      query: pipeline([{ $match: { a: 1 } }, { $group: { _id: '$name', total: { $sum: '$score' } } }]),
      auth: { master: true },
    }],
    expected: { result: [{ objectId: 'x', total: 3 }] },
  },
  {
    name: 'aggregate of one stage in an object',
    code: modern("return new Parse.Query('Game').aggregate({ $limit: 2 });"),
    run: call(),
    answers: { 'GET /aggregate/Game': { results: [] } },
    expectedAsks: [{ query: pipeline([{ $limit: 2 }]) }],
    expected: { result: [] },
  },
  {
    name: 'the keys of a sort keep their order',
    code: modern("return new Parse.Query('Game').aggregate([{ $sort: { b: 1, a: -1 } }]);"),
    run: call(),
    answers: { 'GET /aggregate/Game': { results: [] } },
    expectedAsks: [{ query: `pipeline=${encodeURIComponent('[{"$sort":{"b":1,"a":-1}}]')}` }],
    expected: { result: [] },
  },
  {
    name: 'each goes on by ids',
    code: modern(`
      let n = 0; await new Parse.Query('Game').equalTo('a', 1).each(() => { n += 1; }, { useMasterKey: true });
      return n;
    `),
    run: call(),
    answers: { 'GET /classes/Game': [{ results: many(0, 100) }, { results: many(100, 5) }] },
    expectedAsks: [
      { query: { where: { a: 1 }, limit: 100, order: 'objectId' } },
      {
        query: { where: { a: 1, objectId: { $gt: 'o0099' } }, limit: 100, order: 'objectId' },
        auth: { master: true },
      },
    ],
    expected: { result: 105 },
  },
  {
    name: 'each keeps the bound on ids that the query has',
    code: modern(`
      await new Parse.Query('Game').containedIn('objectId', ['a', 'b']).eachBatch(() => {}, { batchSize: 1 });
    `),
    run: call(),
    answers: { 'GET /classes/Game': [{ results: [{ objectId: 'a' }] }, { results: [] }] },
    expectedAsks: [
      { query: { where: { objectId: { $in: ['a', 'b'] } }, limit: 1, order: 'objectId' } },
      {
        query: {
          where: { objectId: { $in: ['a', 'b'] }, $and: [{ objectId: { $gt: 'a' } }] },
          limit: 1,
          order: 'objectId',
        },
      },
    ],
    expected: { result: undefined },
  },
  {
    name: 'each waits for the callback and ends with its error',
    code: modern(`
      const seen = []; try { await new Parse.Query('Game').each(async (g) => { seen.push(g.id); await null;
      if (seen.length === 2) throw new Error('enough'); }); } catch (e) { return [e.message, seen]; }
    `),
    run: call(),
    answers: { 'GET /classes/Game': { results: [{ objectId: 'a' }, { objectId: 'b' }, { objectId: 'c' }] } },
    expected: { result: ['enough', ['a', 'b']] },
  },
  {
    name: 'each of a query with a limit',
    code: modern("return new Parse.Query('Game').limit(5).each(() => {});"),
    run: call(),
    expectedAsks: [],
    expected: failed(-1, 'Cannot iterate on a query with sort, skip, or limit.'),
  },
  {
    name: 'findAll',
    code: modern("return (await new Parse.Query('Game').findAll({ batchSize: 2 })).map((g) => g.id);"),
    run: call(),
    answers: { 'GET /classes/Game': [{ results: many(0, 2) }, { results: many(2, 1) }] },
    expected: { result: ['o0000', 'o0001', 'o0002'] },
  },
  {
    name: 'map, filter and reduce',
    code: modern(`
      const q = () => new Parse.Query('Game'); return [await q().map((g) => g.get('n')),
      (await q().filter((g) => g.get('n') > 1)).length, await q().reduce((sum, g) => sum + g.get('n'), 0)];
    `),
    run: call(),
    answers: { 'GET /classes/Game': { results: [{ objectId: 'a', n: 1 }, { objectId: 'b', n: 2 }] } },
    expected: { result: [[1, 2], 1, 3] },
  },
  {
    name: 'cancel',
    code: modern("const q = new Parse.Query('Game'); const found = q.find(); q.cancel(); return found;"),
    run: call(),
    answers: { 'GET /classes/Game': null },
    expected: { result: [] },
  },
  {
    name: 'several requests at once',
    code: modern(`
      const names = await Promise.all(['A', 'B', 'C'].map((c) => new Parse.Query(c).first()));
      return names.map((o) => o.className);
    `),
    run: call(),
    answers: {
      'GET /classes/A': (ask, host) => { host.held = ask; return null; },
      'GET /classes/B': { results: [{ objectId: 'b' }] },
      'GET /classes/C': (ask, host) => {
        host.answer(ask, { results: [{ objectId: 'c' }] });
        host.answer(host.held, { results: [{ objectId: 'a' }] });
        return null;
      },
    },
    expected: { result: ['A', 'B', 'C'] },
  },
  {
    name: 'subscribe is not for servers',
    code: modern("return new Parse.Query('A').subscribe();"),
    run: call(),
    expected: failed(108, /live query/),
  },
]);
