// Serialized queries: every constraint and option.
import { call, modern, snippets } from '../snippets.mjs';

const failed = (code, message) => ({ error: { code, message } });
const pointer = (className, objectId) => ({ __type: 'Pointer', className, objectId });
const place = (latitude, longitude) => ({ __type: 'GeoPoint', latitude, longitude });

/** A row that checks a query's JSON, without a request. */
const json = (name, chain, expected) => ({
  name,
  code: modern(`const q = new Parse.Query('Game'); return q${chain}.toJSON();`),
  run: call(),
  expectedAsks: [],
  expected: { result: expected },
});
const where = (name, chain, expected) => json(name, chain, { where: expected });

snippets('constraints', [
  where('equalTo', ".equalTo('a', 1).equalTo('b', 'x')", { a: 1, b: 'x' }),
  where('equalTo of an object', '.equalTo({ a: 1, b: 2 })', { a: 1, b: 2 }),
  where('equalTo undefined', ".equalTo('a', undefined)", { a: { $exists: false } }),
  where(
    'equalTo a pointer and a date',
    ".equalTo('u', Parse.User.createWithoutData('u1')).equalTo('d', new Date(0))",
    { u: pointer('_User', 'u1'), d: { __type: 'Date', iso: '1970-01-01T00:00:00.000Z' } },
  ),
  where(
    'comparisons',
    `
      .greaterThan('a', 1).lessThan('a', 9).greaterThanOrEqualTo('b', 1).lessThanOrEqualTo('b', 2).notEqualTo('c',
      3)
    `,
    { a: { $gt: 1, $lt: 9 }, b: { $gte: 1, $lte: 2 }, c: { $ne: 3 } },
  ),
  where(
    'a comparison after an equality replaces it',
    ".equalTo('a', pointer).notEqualTo('a', 2)".replace('pointer', "Parse.User.createWithoutData('u')"),
    { a: { $ne: 2 } },
  ),
  where(
    'lists',
    ".containedIn('a', [1]).notContainedIn('b', [2]).containsAll('c', [3]).containedBy('d', [4])",
    { a: { $in: [1] }, b: { $nin: [2] }, c: { $all: [3] }, d: { $containedBy: [4] } },
  ),
  where('containsAllStartingWith', ".containsAllStartingWith('a', ['x', 'y'])", {
    a: { $all: [{ $regex: '^\\Qx\\E' }, { $regex: '^\\Qy\\E' }] },
  }),
  where('exists', ".exists('a').doesNotExist('b')", { a: { $exists: true }, b: { $exists: false } }),
  where('matches', ".matches('a', /^x/im).matches('b', 'y', 's')", {
    a: { $regex: '^x', $options: 'im' },
    b: { $regex: 'y', $options: 's' },
  }),
  where(
    'parts of texts',
    ".contains('a', 'x.y').startsWith('b', 'x').endsWith('c', 'x').contains('d', 'a\\\\Eb')",
    {
      a: { $regex: '\\Qx.y\\E' },
      b: { $regex: '^\\Qx\\E' },
      c: { $regex: '\\Qx\\E$' },
      d: { $regex: '\\Qa\\E\\\\E\\Qb\\E' },
    },
  ),
  where('fullText', ".fullText('a', 'coffee', { language: 'en', caseSensitive: true })", {
    a: { $text: { $search: { $term: 'coffee', $language: 'en', $caseSensitive: true } } },
  }),
  where(
    'matchesQuery',
    `
      .matchesQuery('p', new Parse.Query('Post').exists('image').limit(5)).doesNotMatchQuery('o',
      new Parse.Query('Post'))
    `,
    {
      p: { $inQuery: { where: { image: { $exists: true } }, limit: 5, className: 'Post' } },
      o: { $notInQuery: { where: {}, className: 'Post' } },
    },
  ),
  where(
    'matchesKeyInQuery',
    `
      .matchesKeyInQuery('city', 'town', new Parse.Query('Team')).doesNotMatchKeyInQuery('c', 't',
      new Parse.Query('Team'))
    `,
    {
      city: { $select: { key: 'town', query: { where: {}, className: 'Team' } } },
      c: { $dontSelect: { key: 't', query: { where: {}, className: 'Team' } } },
    },
  ),
  where('near', ".near('l', new Parse.GeoPoint(1, 2))", { l: { $nearSphere: place(1, 2) } }),
  where('withinKilometers', ".withinKilometers('l', { latitude: 1, longitude: 2 }, 6371)", {
    l: { $nearSphere: place(1, 2), $maxDistance: 1 },
  }),
  where('withinMiles unsorted', ".withinMiles('l', new Parse.GeoPoint(1, 2), 3958.8, false)", {
    l: { $geoWithin: { $centerSphere: [[2, 1], 1] } },
  }),
  where('withinGeoBox', ".withinGeoBox('l', new Parse.GeoPoint(0, 0), new Parse.GeoPoint(1, 1))", {
    l: { $within: { $box: [place(0, 0), place(1, 1)] } },
  }),
  where(
    'polygons',
    `
      .withinPolygon('l', [new Parse.GeoPoint(0, 0), new Parse.GeoPoint(0, 1), new Parse.GeoPoint(1,
      1)]).polygonContains('p', new Parse.GeoPoint(1, 1))
    `,
    {
      l: { $geoWithin: { $polygon: [place(0, 0), place(0, 1), place(1, 1)] } },
      p: { $geoIntersects: { $point: place(1, 1) } },
    },
  ),
  {
    name: 'or, and, nor',
    code: modern(`
      const q = (n) => new Parse.Query('Game').equalTo('a', n); return Parse.Query.and(Parse.Query.or(q(1), q(2)),
      Parse.Query.nor(q(3), q(4))).limit(1).toJSON();
    `),
    run: call(),
    expected: {
      result: { where: { $and: [{ $or: [{ a: 1 }, { a: 2 }] }, { $nor: [{ a: 3 }, { a: 4 }] }] }, limit: 1 },
    },
  },
  {
    name: 'or of two classes',
    code: modern("return Parse.Query.or(new Parse.Query('A'), new Parse.Query('B'));"),
    run: call(),
    expected: failed(141, 'All queries must be for the same class.'),
  },
  {
    name: 'contains of a number',
    code: modern("return new Parse.Query('A').contains('a', 1);"),
    run: call(),
    expected: failed(141, 'The value being searched for must be a string.'),
  },
  {
    name: 'a query of nothing',
    code: modern('return new Parse.Query();'),
    run: call(),
    expected: failed(141, /class name/),
  },
  {
    name: 'a query of User',
    code: modern(`
      return [new Parse.Query('User').className, new Parse.Query(Parse.User).className,
      new Parse.Query(new Parse.Object('X')).className];
    `),
    run: call(),
    expected: { result: ['_User', '_User', 'X'] },
  },
  {
    name: "a relation's query",
    code: modern(`
      const g = Parse.Object.fromJSON({ className: 'Game', objectId: 'g1', fans: { __type: 'Relation',
      className: '_User' } }); const q = g.relation('fans').query(); return [q.className, q.toJSON()];
    `),
    run: call(),
    expected: { result: ['_User', { where: { $relatedTo: { object: pointer('Game', 'g1'), key: 'fans' } } }] },
  },
  {
    name: 'the query of a relation that is not known',
    code: modern(`
      const q = Parse.Object.fromJSON({ className: 'Game', objectId: 'g1' }).relation('fans').query();
      return [q.className, q.toJSON().redirectClassNameForKey];
    `),
    run: call(),
    expected: { result: ['Game', 'fans'] },
  },
]);

snippets('options', [
  json('order', ".ascending('a', 'b').addDescending('c').addAscending(['d', 'e'])", { where: {}, order: 'a,b,-c,d,e' }),
  json('order anew', ".ascending('a').descending('b, c')", { where: {}, order: '-b,-c' }),
  json('pages', '.limit(0).skip(20)', { where: {}, limit: 0, skip: 20 }),
  json('keys', ".select('a', ['b', 'c']).exclude('d').include('e', ['f.g'])", {
    where: {},
    include: 'e,f.g',
    excludeKeys: 'd',
    keys: 'a,b,c',
  }),
  json('everything included', '.includeAll()', { where: {}, include: '*' }),
  json('the rest', ".hint('i').comment('c').explain().readPreference('SECONDARY')", {
    where: {},
    hint: 'i',
    comment: 'c',
    explain: true,
    readPreference: 'SECONDARY',
  }),
  json('a text score', '.sortByTextScore()', { where: {}, order: '$score', keys: '$score' }),
  {
    name: 'JSON and back',
    code: modern(`
      return Parse.Query.fromJSON('Game', { where: { a: 1 }, limit: 0, skip: 2, order: 'a,-b', keys: 'a',
      include: 'x', count: 1, hint: 'h' }).toJSON();
    `),
    run: call(),
    expected: {
      result: { where: { a: 1 }, include: 'x', keys: 'a', count: 1, limit: 0, skip: 2, order: 'a,-b', hint: 'h' },
    },
  },
  {
    name: 'a limit that is a text',
    code: modern("return new Parse.Query('A').limit('5');"),
    run: call(),
    expected: failed(141, 'You can only set the limit to a numeric value'),
  },
]);
