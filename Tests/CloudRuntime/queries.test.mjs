// Queries: every constraint and option on the wire, and what the requests make of the answers.
import { call, modern, snippets } from './snippets.mjs';

const failed = (code, message) => ({ error: { code, message } });
const pointer = (className, objectId) => ({ __type: 'Pointer', className, objectId });
const place = (latitude, longitude) => ({ __type: 'GeoPoint', latitude, longitude });

/** A row for a query's JSON, without a request. */
const json = (name, chain, expected) => ({ name, code: modern(`const q = new Parse.Query('Game'); return q${chain}.toJSON();`), run: call(), expectedAsks: [], expected: { result: expected } });
const where = (name, chain, expected) => json(name, chain, { where: expected });

snippets('constraints', [
  where('equalTo', ".equalTo('a', 1).equalTo('b', 'x')", { a: 1, b: 'x' }),
  where('equalTo of an object', '.equalTo({ a: 1, b: 2 })', { a: 1, b: 2 }),
  where('equalTo undefined', ".equalTo('a', undefined)", { a: { $exists: false } }),
  where('equalTo a pointer and a date', ".equalTo('u', Parse.User.createWithoutData('u1')).equalTo('d', new Date(0))", { u: pointer('_User', 'u1'), d: { __type: 'Date', iso: '1970-01-01T00:00:00.000Z' } }),
  where('comparisons', ".greaterThan('a', 1).lessThan('a', 9).greaterThanOrEqualTo('b', 1).lessThanOrEqualTo('b', 2).notEqualTo('c', 3)", { a: { $gt: 1, $lt: 9 }, b: { $gte: 1, $lte: 2 }, c: { $ne: 3 } }),
  where('a comparison after an equality replaces it', ".equalTo('a', pointer).notEqualTo('a', 2)".replace('pointer', "Parse.User.createWithoutData('u')"), { a: { $ne: 2 } }),
  where('lists', ".containedIn('a', [1]).notContainedIn('b', [2]).containsAll('c', [3]).containedBy('d', [4])", { a: { $in: [1] }, b: { $nin: [2] }, c: { $all: [3] }, d: { $containedBy: [4] } }),
  where('containsAllStartingWith', ".containsAllStartingWith('a', ['x', 'y'])", { a: { $all: [{ $regex: '^\\Qx\\E' }, { $regex: '^\\Qy\\E' }] } }),
  where('exists', ".exists('a').doesNotExist('b')", { a: { $exists: true }, b: { $exists: false } }),
  where('matches', ".matches('a', /^x/im).matches('b', 'y', 's')", { a: { $regex: '^x', $options: 'im' }, b: { $regex: 'y', $options: 's' } }),
  where('parts of texts', ".contains('a', 'x.y').startsWith('b', 'x').endsWith('c', 'x').contains('d', 'a\\\\Eb')", { a: { $regex: '\\Qx.y\\E' }, b: { $regex: '^\\Qx\\E' }, c: { $regex: '\\Qx\\E$' }, d: { $regex: '\\Qa\\E\\\\E\\Qb\\E' } }),
  where('fullText', ".fullText('a', 'coffee', { language: 'en', caseSensitive: true })", { a: { $text: { $search: { $term: 'coffee', $language: 'en', $caseSensitive: true } } } }),
  where('matchesQuery', ".matchesQuery('p', new Parse.Query('Post').exists('image').limit(5)).doesNotMatchQuery('o', new Parse.Query('Post'))",
    { p: { $inQuery: { where: { image: { $exists: true } }, limit: 5, className: 'Post' } }, o: { $notInQuery: { where: {}, className: 'Post' } } }),
  where('matchesKeyInQuery', ".matchesKeyInQuery('city', 'town', new Parse.Query('Team')).doesNotMatchKeyInQuery('c', 't', new Parse.Query('Team'))",
    { city: { $select: { key: 'town', query: { where: {}, className: 'Team' } } }, c: { $dontSelect: { key: 't', query: { where: {}, className: 'Team' } } } }),
  where('near', ".near('l', new Parse.GeoPoint(1, 2))", { l: { $nearSphere: place(1, 2) } }),
  where('withinKilometers', ".withinKilometers('l', { latitude: 1, longitude: 2 }, 6371)", { l: { $nearSphere: place(1, 2), $maxDistance: 1 } }),
  where('withinMiles unsorted', ".withinMiles('l', new Parse.GeoPoint(1, 2), 3958.8, false)", { l: { $geoWithin: { $centerSphere: [[2, 1], 1] } } }),
  where('withinGeoBox', ".withinGeoBox('l', new Parse.GeoPoint(0, 0), new Parse.GeoPoint(1, 1))", { l: { $within: { $box: [place(0, 0), place(1, 1)] } } }),
  where('polygons', ".withinPolygon('l', [new Parse.GeoPoint(0, 0), new Parse.GeoPoint(0, 1), new Parse.GeoPoint(1, 1)]).polygonContains('p', new Parse.GeoPoint(1, 1))",
    { l: { $geoWithin: { $polygon: [place(0, 0), place(0, 1), place(1, 1)] } }, p: { $geoIntersects: { $point: place(1, 1) } } }),
  { name: 'or, and, nor', code: modern("const q = (n) => new Parse.Query('Game').equalTo('a', n); return Parse.Query.and(Parse.Query.or(q(1), q(2)), Parse.Query.nor(q(3), q(4))).limit(1).toJSON();"), run: call(),
    expected: { result: { where: { $and: [{ $or: [{ a: 1 }, { a: 2 }] }, { $nor: [{ a: 3 }, { a: 4 }] }] }, limit: 1 } } },
  { name: 'or of two classes', code: modern("return Parse.Query.or(new Parse.Query('A'), new Parse.Query('B'));"), run: call(), expected: failed(141, 'All queries must be for the same class.') },
  { name: 'contains of a number', code: modern("return new Parse.Query('A').contains('a', 1);"), run: call(), expected: failed(141, 'The value being searched for must be a string.') },
  { name: 'a query of nothing', code: modern('return new Parse.Query();'), run: call(), expected: failed(141, /class name/) },
  { name: 'a query of User', code: modern("return [new Parse.Query('User').className, new Parse.Query(Parse.User).className, new Parse.Query(new Parse.Object('X')).className];"), run: call(), expected: { result: ['_User', '_User', 'X'] } },
  { name: "a relation's query", code: modern("const g = Parse.Object.fromJSON({ className: 'Game', objectId: 'g1', fans: { __type: 'Relation', className: '_User' } }); const q = g.relation('fans').query(); return [q.className, q.toJSON()];"), run: call(),
    expected: { result: ['_User', { where: { $relatedTo: { object: pointer('Game', 'g1'), key: 'fans' } } }] } },
  { name: 'the query of a relation that is not known', code: modern("const q = Parse.Object.fromJSON({ className: 'Game', objectId: 'g1' }).relation('fans').query(); return [q.className, q.toJSON().redirectClassNameForKey];"), run: call(), expected: { result: ['Game', 'fans'] } },
]);

snippets('options', [
  json('order', ".ascending('a', 'b').addDescending('c').addAscending(['d', 'e'])", { where: {}, order: 'a,b,-c,d,e' }),
  json('order anew', ".ascending('a').descending('b, c')", { where: {}, order: '-b,-c' }),
  json('pages', '.limit(0).skip(20)', { where: {}, limit: 0, skip: 20 }),
  json('keys', ".select('a', ['b', 'c']).exclude('d').include('e', ['f.g'])", { where: {}, include: 'e,f.g', excludeKeys: 'd', keys: 'a,b,c' }),
  json('everything included', '.includeAll()', { where: {}, include: '*' }),
  json('the rest', ".hint('i').comment('c').explain().readPreference('SECONDARY')", { where: {}, hint: 'i', comment: 'c', explain: true, readPreference: 'SECONDARY' }),
  json('a text score', '.sortByTextScore()', { where: {}, order: '$score', keys: '$score' }),
  { name: 'JSON and back', code: modern("return Parse.Query.fromJSON('Game', { where: { a: 1 }, limit: 0, skip: 2, order: 'a,-b', keys: 'a', include: 'x', count: 1, hint: 'h' }).toJSON();"), run: call(),
    expected: { result: { where: { a: 1 }, include: 'x', keys: 'a', count: 1, limit: 0, skip: 2, order: 'a,-b', hint: 'h' } } },
  { name: 'a limit that is a text', code: modern("return new Parse.Query('A').limit('5');"), run: call(), expected: failed(141, 'You can only set the limit to a numeric value') },
]);

const many = (from, count) => Array.from({ length: count }, (_, n) => ({ objectId: `o${String(from + n).padStart(4, '0')}` }));
snippets('requests of queries', [
  { name: 'find with the master key', code: modern("return (await new Parse.Query('Game').find({ useMasterKey: true })).length;"), run: call(), answers: { 'GET /classes/Game': { results: [{ objectId: 'a' }] } },
    expectedAsks: [{ method: 'GET', path: '/classes/Game', query: { where: {} }, auth: { master: true, sessionToken: null, installationId: null } }], expected: { result: 1 } },
  { name: 'find as the caller in hosted Parse\'s way', code: modern("await new Parse.Query('Game').find();"), config: { actAsCaller: true }, run: call({}, { user: { objectId: 'u', sessionToken: 'r:u' } }),
    answers: { 'GET /classes/Game': { results: [] } }, expectedAsks: [{ auth: { master: false, sessionToken: 'r:u' } }], expected: { result: undefined } },
  { name: 'useMasterKey() for the run, and not where options say no', code: modern("Parse.Cloud.useMasterKey(); await new Parse.Query('A').find(); await new Parse.Query('B').find({ useMasterKey: false });"), run: call(),
    answers: { 'GET /classes/A': { results: [] }, 'GET /classes/B': { results: [] } }, expectedAsks: [{ auth: { master: true } }, { auth: { master: false } }], expected: { result: undefined } },
  { name: 'useMasterKey() of one run is not that of the next', code: "Parse.Cloud.define('g', () => { Parse.Cloud.useMasterKey(); });" + modern("await new Parse.Query('A').find();"), run: [{ kind: 'function', name: 'g' }, call()],
    answers: { 'GET /classes/A': { results: [] } }, expectedAsks: [{ auth: { master: false } }], expected: { result: undefined } },
  { name: 'useMasterKey() at the top is for every run', code: `Parse.Cloud.useMasterKey(); ${modern("await new Parse.Query('A').find();")}`, run: call(),
    answers: { 'GET /classes/A': { results: [] } }, expectedAsks: [{ auth: { master: true } }], expected: { result: undefined } },
  { name: 'first of none', code: modern("return (await new Parse.Query('Game').first()) === undefined;"), run: call(), answers: { 'GET /classes/Game': { results: [] } }, expectedAsks: [{ query: { where: {}, limit: 1 } }], expected: { result: true } },
  { name: 'get', code: modern("return (await new Parse.Query('Game').include('o').get('g1')).get('n');"), run: call(), answers: { 'GET /classes/Game': { results: [{ objectId: 'g1', n: 3 }] } }, expectedAsks: [{ query: { where: { objectId: 'g1' }, include: 'o', limit: 1 } }], expected: { result: 3 } },
  { name: 'get of none', code: modern("return new Parse.Query('Game').get('g1');"), run: call(), answers: { 'GET /classes/Game': { results: [] } }, expected: failed(101, 'Object not found.') },
  { name: 'count', code: modern("return new Parse.Query('Game').equalTo('a', 1).count();"), run: call(), answers: { 'GET /classes/Game': { results: [], count: 12 } }, expectedAsks: [{ query: { where: { a: 1 }, limit: 0, count: 1 } }], expected: { result: 12 } },
  { name: 'withCount', code: modern("const { results, count } = await new Parse.Query('Game').withCount().limit(1).find(); return [results[0].id, count];"), run: call(), answers: { 'GET /classes/Game': { results: [{ objectId: 'a' }], count: 9 } }, expected: { result: ['a', 9] } },
  { name: 'a redirected class', code: modern("const q = Parse.Object.fromJSON({ className: 'Game', objectId: 'g1' }).relation('fans').query(); return (await q.find())[0].className;"), run: call(), answers: { 'GET /classes/Game': { results: [{ objectId: 'u' }], className: '_User' } }, expected: { result: '_User' } },
  { name: 'distinct', code: modern("return new Parse.Query('Game').equalTo('a', 1).distinct('name');"), run: call(), answers: { 'GET /aggregate/Game': { results: ['x', 'y'] } }, expectedAsks: [{ path: '/aggregate/Game', query: { distinct: 'name', where: { a: 1 } }, auth: { master: true } }], expected: { result: ['x', 'y'] } },
  { name: 'aggregate', code: modern("return new Parse.Query('Game').equalTo('a', 1).aggregate([{ $group: { _id: '$name', total: { $sum: '$score' } } }]);"), run: call(), answers: { 'GET /aggregate/Game': { results: [{ objectId: 'x', total: 3 }] } },
    expectedAsks: [{ query: { pipeline: [{ $match: { a: 1 } }, { $group: { _id: '$name', total: { $sum: '$score' } } }] }, auth: { master: true } }], expected: { result: [{ objectId: 'x', total: 3 }] } },
  { name: 'aggregate of one stage in an object', code: modern("return new Parse.Query('Game').aggregate({ $limit: 2 });"), run: call(), answers: { 'GET /aggregate/Game': { results: [] } }, expectedAsks: [{ query: { pipeline: [{ $limit: 2 }] } }], expected: { result: [] } },
  { name: 'each goes on by ids', code: modern("let n = 0; await new Parse.Query('Game').equalTo('a', 1).each(() => { n += 1; }, { useMasterKey: true }); return n;"), run: call(), answers: { 'GET /classes/Game': [{ results: many(0, 100) }, { results: many(100, 5) }] },
    expectedAsks: [{ query: { where: { a: 1 }, limit: 100, order: 'objectId' } }, { query: { where: { a: 1, objectId: { $gt: 'o0099' } }, limit: 100, order: 'objectId' }, auth: { master: true } }], expected: { result: 105 } },
  { name: 'each keeps the bound on ids that the query has', code: modern("await new Parse.Query('Game').containedIn('objectId', ['a', 'b']).eachBatch(() => {}, { batchSize: 1 });"), run: call(), answers: { 'GET /classes/Game': [{ results: [{ objectId: 'a' }] }, { results: [] }] },
    expectedAsks: [{ query: { where: { objectId: { $in: ['a', 'b'] } }, limit: 1, order: 'objectId' } }, { query: { where: { objectId: { $in: ['a', 'b'] }, $and: [{ objectId: { $gt: 'a' } }] }, limit: 1, order: 'objectId' } }], expected: { result: undefined } },
  { name: 'each waits for the callback and ends with its error', code: modern("const seen = []; try { await new Parse.Query('Game').each(async (g) => { seen.push(g.id); await null; if (seen.length === 2) throw new Error('enough'); }); } catch (e) { return [e.message, seen]; }"), run: call(), answers: { 'GET /classes/Game': { results: [{ objectId: 'a' }, { objectId: 'b' }, { objectId: 'c' }] } }, expected: { result: ['enough', ['a', 'b']] } },
  { name: 'each of a query with a limit', code: modern("return new Parse.Query('Game').limit(5).each(() => {});"), run: call(), expectedAsks: [], expected: failed(-1, 'Cannot iterate on a query with sort, skip, or limit.') },
  { name: 'findAll', code: modern("return (await new Parse.Query('Game').findAll({ batchSize: 2 })).map((g) => g.id);"), run: call(), answers: { 'GET /classes/Game': [{ results: many(0, 2) }, { results: many(2, 1) }] }, expected: { result: ['o0000', 'o0001', 'o0002'] } },
  { name: 'map, filter and reduce', code: modern("const q = () => new Parse.Query('Game'); return [await q().map((g) => g.get('n')), (await q().filter((g) => g.get('n') > 1)).length, await q().reduce((sum, g) => sum + g.get('n'), 0)];"), run: call(), answers: { 'GET /classes/Game': { results: [{ objectId: 'a', n: 1 }, { objectId: 'b', n: 2 }] } }, expected: { result: [[1, 2], 1, 3] } },
  { name: 'cancel', code: modern("const q = new Parse.Query('Game'); const found = q.find(); q.cancel(); return found;"), run: call(), answers: { 'GET /classes/Game': null }, expected: { result: [] } },
  { name: 'several requests at once', code: modern("const names = await Promise.all(['A', 'B', 'C'].map((c) => new Parse.Query(c).first())); return names.map((o) => o.className);"), run: call(),
    answers: { 'GET /classes/A': (ask, host) => { host.held = ask; return null; }, 'GET /classes/B': { results: [{ objectId: 'b' }] },
      'GET /classes/C': (ask, host) => { host.answer(ask, { results: [{ objectId: 'c' }] }); host.answer(host.held, { results: [{ objectId: 'a' }] }); return null; } }, expected: { result: ['A', 'B', 'C'] } },
  { name: 'subscribe is not for servers', code: modern("return new Parse.Query('A').subscribe();"), run: call(), expected: failed(108, /live query/) },
]);
