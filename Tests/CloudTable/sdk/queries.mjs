// Parse.Query in cloud code.
import { call, containing, error, master, modern, others, pointer, post, put, result, subject } from '../rows.mjs';

const names = ['ant', 'bee', 'cat', 'dog', 'Eel'];
const items = names.map((name, index) =>
  post('/classes/Item_', {
    name,
    n: index,
    even: index % 2 === 0,
    tags: names.slice(0, index),
    ...(index < 3 ? { rare: true } : {}),
    at: { __type: 'GeoPoint', latitude: index * 10, longitude: 0 },
    day: { __type: 'Date', iso: `2024-01-0${index + 1}T00:00:00.000Z` },
  }),
);

/** The names that a query of the five animals finds, in order. */
const row = (name, constraints, found, more = {}) => ({
  name,
  before: items,
  ask: call(),
  answer: result(found),
  code: modern(`const query = new Parse.Query('Item_').ascending('n');\n${constraints}
    return (await query.find()).map((item) => item.get('name'));`),
  ...more,
});
/** A piece of code's answer about the five animals. */
const code = (name, body, answer, more = {}) => ({
  name,
  before: items,
  ask: call(),
  answer: answer.code ? answer : result(answer),
  code: modern(body),
  ...more,
});
const family = [
  post('/classes/Team_', { name: 'red', wins: 3 }, { keep: { red: 'objectId' } }),
  post('/classes/Team_', { name: 'blue', wins: 1 }, { keep: { blue: 'objectId' } }),
  post('/classes/Item_', {
    name: 'a',
    team: pointer('Team_', '<red>'),
    teams: [pointer('Team_', '<red>'), pointer('Team_', '<blue>')],
  }),
  post('/classes/Item_', { name: 'b', team: pointer('Team_', '<blue>') }),
  post('/classes/Item_', { name: 'c' }),
];

export default [
  ...subject('constraints', 'JS guide, Query Constraints', [
    row('equalTo', "query.equalTo('name', 'bee');", ['bee']),
    row('notEqualTo', "query.notEqualTo('name', 'bee');", ['ant', 'cat', 'dog', 'Eel']),
    row('several are all asked for', "query.greaterThan('n', 0).lessThan('n', 3);", ['bee', 'cat']),
    row('lessThanOrEqualTo, greaterThanOrEqualTo', "query.lessThanOrEqualTo('n', 3).greaterThanOrEqualTo('n', 3);", [
      'dog',
    ]),
    row('of dates', "query.greaterThan('day', new Date('2024-01-03T12:00:00Z'));", ['dog', 'Eel']),
    row('containedIn', "query.containedIn('name', ['dog', 'ant', 'fox']);", ['ant', 'dog']),
    row('notContainedIn', "query.notContainedIn('name', ['dog', 'ant', 'fox']);", ['bee', 'cat', 'Eel']),
    row('exists, doesNotExist', "query.exists('rare');", ['ant', 'bee', 'cat']),
    row('doesNotExist', "query.doesNotExist('rare');", ['dog', 'Eel']),
    row('an element of a list', "query.equalTo('tags', 'cat');", ['dog', 'Eel']),
    row('containsAll', "query.containsAll('tags', ['ant', 'bee', 'cat']);", ['dog', 'Eel']),
    row('containedBy', "query.containedBy('tags', ['ant', 'bee']);", ['ant', 'bee', 'cat']),
    row('startsWith', "query.startsWith('name', 'd');", ['dog']),
    row('endsWith', "query.endsWith('name', 'e');", ['bee']),
    row('contains', "query.contains('name', 'a');", ['ant', 'cat']),
    row('matches', "query.matches('name', '^e', 'i');", ['Eel']),
    row('matches with a RegExp', "query.matches('name', /^[ab]/);", ['ant', 'bee']),
    row('limit and skip', 'query.limit(2).skip(1);', ['bee', 'cat']),
    row('descending', "query.descending('n').limit(2);", ['Eel', 'dog']),
    row('two orders', "query.descending('even').addAscending('n');", ['ant', 'cat', 'Eel', 'bee', 'dog']),
    row('near', "query.near('at', new Parse.GeoPoint(22, 0)).limit(3);", ['cat', 'dog', 'bee'], {
      source: 'JS guide, GeoPoints',
      code: modern(`const near = new Parse.Query('Item_').near('at', new Parse.GeoPoint(22, 0)).limit(3);
        return (await near.find()).map((item) => item.get('name'));`),
    }),
    row('near, with an order that takes precedence', "query.near('at', new Parse.GeoPoint(22, 0)).limit(1);", ['ant'], {
      source: 'JS guide, GeoPoints',
    }),
    row(
      'withinKilometers',
      "query.withinKilometers('at', new Parse.GeoPoint(20, 0), 1200, false);",
      ['bee', 'cat', 'dog'],
      { source: 'JS guide, GeoPoints' },
    ),
    row(
      'withinGeoBox',
      "query.withinGeoBox('at', new Parse.GeoPoint(5, -5), new Parse.GeoPoint(25, 5));",
      ['bee', 'cat'],
      { source: 'JS guide, GeoPoints' },
    ),
    row(
      'withinPolygon',
      `const corners = [[5, -5], [5, 5], [15, 5], [15, -5]].map((corner) => new Parse.GeoPoint(...corner));
      query.withinPolygon('at', corners);`,
      ['bee'],
      { source: 'JS guide, GeoPoints' },
    ),
    row('nothing is found', "query.equalTo('name', 'fox');", []),
  ]),
  ...subject('compound queries', 'JS guide, Compound Queries', [
    code(
      'or',
      `const either = Parse.Query.or(new Parse.Query('Item_').lessThan('n', 1),
        new Parse.Query('Item_').greaterThan('n', 3));
      return (await either.ascending('n').find()).map((item) => item.get('name'));`,
      ['ant', 'Eel'],
    ),
    code(
      'and',
      `const both = Parse.Query.and(new Parse.Query('Item_').lessThan('n', 3),
        new Parse.Query('Item_').greaterThan('n', 1));
      return (await both.find()).map((item) => item.get('name'));`,
      ['cat'],
    ),
    code(
      'nor',
      `const neither = Parse.Query.nor(new Parse.Query('Item_').lessThan('n', 1),
        new Parse.Query('Item_').greaterThan('n', 2));
      return (await neither.ascending('n').find()).map((item) => item.get('name'));`,
      ['bee', 'cat'],
    ),
    code('or of two classes', "return Parse.Query.or(new Parse.Query('Item_'), new Parse.Query('Other_')).find();", {
      code: 141,
      error: containing('same class'),
    }),
  ]),
  ...subject('relational queries', 'JS guide, Relational Queries', [
    code(
      'a pointer',
      `const red = await new Parse.Query('Team_').equalTo('name', 'red').first();
      return (await new Parse.Query('Item_').equalTo('team', red).find()).map((item) => item.get('name'));`,
      ['a'],
      { before: family },
    ),
    code(
      'matchesQuery',
      `const strong = new Parse.Query('Team_').greaterThan('wins', 2);
      return (await new Parse.Query('Item_').matchesQuery('team', strong).find()).map((item) => item.get('name'));`,
      ['a'],
      { before: family },
    ),
    code(
      'doesNotMatchQuery',
      `const strong = new Parse.Query('Team_').greaterThan('wins', 2);
      const others = await new Parse.Query('Item_').doesNotMatchQuery('team', strong).ascending('name').find();
      return others.map((item) => item.get('name'));`,
      ['b', 'c'],
      { before: family },
    ),
    code(
      'matchesKeyInQuery',
      `await new Parse.Object('Fan_').save({ likes: 'blue' });
      const teams = new Parse.Query('Team_').matchesKeyInQuery('name', 'likes', new Parse.Query('Fan_'));
      return (await teams.find()).map((team) => team.get('name'));`,
      ['blue'],
      { before: family },
    ),
    code(
      'doesNotMatchKeyInQuery',
      `await new Parse.Object('Fan_').save({ likes: 'blue' });
      const teams = new Parse.Query('Team_').doesNotMatchKeyInQuery('name', 'likes', new Parse.Query('Fan_'));
      return (await teams.find()).map((team) => team.get('name'));`,
      ['red'],
      { before: family },
    ),
    code(
      'include',
      `const item = await new Parse.Query('Item_').equalTo('name', 'a').include('team').first();
      return [item.get('team').get('name'), item.get('team').isDataAvailable()];`,
      ['red', true],
      { before: family },
    ),
    code(
      'without include',
      `const item = await new Parse.Query('Item_').equalTo('name', 'a').first();
      return [item.get('team').get('name') === undefined, item.get('team').id.length];`,
      [true, 10],
      { before: family },
    ),
    code(
      'include of a list',
      `const item = await new Parse.Query('Item_').equalTo('name', 'a').include('teams').first();
      return item.get('teams').map((team) => team.get('name'));`,
      ['red', 'blue'],
      { before: family },
    ),
    code(
      'select',
      `const item = await new Parse.Query('Item_').equalTo('name', 'a').select('name').first();
      return [item.get('name'), item.get('team') === undefined];`,
      ['a', true],
      { before: family },
    ),
    code(
      'a relation',
      `const item = await new Parse.Query('Item_').equalTo('name', 'c').first();
      item.relation('friends').add(await new Parse.Query('Team_').find());
      await item.save();
      const found = await item.relation('friends').query().ascending('name').find();
      return found.map((team) => team.get('name'));`,
      ['blue', 'red'],
      { before: family, source: 'JS guide, Relational Data' },
    ),
  ]),
  ...subject('other ways to ask', 'JS guide, Queries', [
    code('first', "return (await new Parse.Query('Item_').descending('n').first()).get('name');", 'Eel'),
    code('first of none', "return (await new Parse.Query('Item_').equalTo('n', 99).first()) === undefined;", true),
    code(
      'get',
      `const { id } = await new Parse.Query('Item_').first();
      return (await new Parse.Query('Item_').get(id)).id === id;`,
      true,
    ),
    code('get of none', "return new Parse.Query('Item_').get('nobodyhere');", error(101, 'Object not found.')),
    code('count', "return new Parse.Query('Item_').greaterThan('n', 1).count();", 3),
    code(
      'withCount',
      `const { results, count } = await new Parse.Query('Item_').limit(2).withCount().find();
      return [results.length, count];`,
      [2, 5],
    ),
    code(
      'each',
      `let sum = 0;
      await new Parse.Query('Item_').each((item) => { sum += item.get('n'); });
      return sum;`,
      10,
    ),
    code(
      'each with an order',
      "return new Parse.Query('Item_').ascending('n').each(() => {});",
      { code: 141, ...others },
      { source: 'JS SDK, Parse.Query.each: it fails with sort, skip or limit' },
    ),
    code(
      'eachBatch',
      `const sizes = [];
      await new Parse.Query('Item_').eachBatch((batch) => { sizes.push(batch.length); }, { batchSize: 2 });
      return sizes;`,
      [2, 2, 1],
    ),
    code('map', "return (await new Parse.Query('Item_').map((item) => item.get('n') * 2)).sort();", [0, 2, 4, 6, 8]),
    code('filter', "return (await new Parse.Query('Item_').filter((item) => item.get('even'))).length;", 3),
    code('reduce', "return new Parse.Query('Item_').reduce((sum, item) => sum + item.get('n'), 0);", 10),
    code('findAll', "return (await new Parse.Query('Item_').findAll()).length;", 5),
    code('distinct', "return (await new Parse.Query('Item_').distinct('even', { useMasterKey: true })).length;", 2, {
      source: 'JS guide, Aggregate',
    }),
    code(
      'aggregate',
      `const pipeline = [{ $group: { _id: '$even', total: { $sum: '$n' } } }, { $sort: { total: 1 } }];
      return (await new Parse.Query('Item_').aggregate(pipeline, { useMasterKey: true })).map((group) => group.total);`,
      [4, 6],
      { source: 'JS guide, Aggregate' },
    ),
    code(
      'aggregate with a match',
      `const pipeline = [{ $match: { n: { $gt: 1 } } }, { $group: { _id: null, total: { $sum: '$n' } } }];
      return (await new Parse.Query('Item_').aggregate(pipeline, { useMasterKey: true }))[0].total;`,
      9,
      { source: 'JS guide, Aggregate' },
    ),
    code(
      'fromJSON',
      `const query = Parse.Query.fromJSON('Item_', new Parse.Query('Item_').equalTo('n', 2).toJSON());
      return (await query.first()).get('name');`,
      'cat',
    ),
    code(
      'fullText',
      `const found = await new Parse.Query('Item_').fullText('name', 'dog').find();
      return found.map((item) => item.get('name'));`,
      ['dog'],
      { source: 'JS guide, Full Text Search' },
    ),
    code(
      'explain without the master key',
      "return new Parse.Query('Item_').explain().find();",
      { code: 119, ...others },
      { source: "docs/internals/testing.md, A client library's own tests" },
    ),
  ]),
  ...subject('refused queries', 'protocol 14', [
    code(
      'a pattern that is none',
      "return new Parse.Query('Item_').matches('name', '(').find();",
      error(102, '<any text>'),
    ),
    code('a field name that is none', "return new Parse.Query('Item_').equalTo('a b', 1).find();", {
      code: 105,
      ...others,
    }),
    code('a class name that is none', "return new Parse.Query('9Items').find();", { code: 103, ...others }),
    code(
      'a class that is closed',
      "return new Parse.Query('Item_').find();",
      { code: 119, ...others },
      {
        before: [post('/schemas/Item_', { className: 'Item_', classLevelPermissions: { find: {} } }, master)],
      },
    ),
    code(
      'a class that is closed, with the master key',
      "return new Parse.Query('Item_').find({ useMasterKey: true });",
      [],
      {
        before: [post('/schemas/Item_', { className: 'Item_', classLevelPermissions: { find: {} } }, master)],
      },
    ),
    code(
      'a field that is hidden',
      `const item = await new Parse.Query('Item_').first();
      return item.get('name') === undefined;`,
      true,
      {
        before: [
          ...items,
          put(
            '/schemas/Item_',
            {
              className: 'Item_',
              classLevelPermissions: {
                find: { '*': true },
                get: { '*': true },
                protectedFields: { '*': ['name'] },
              },
            },
            master,
          ),
        ],
      },
    ),
    code('sessions of everybody', "return new Parse.Query('_Session').find();", { code: 209, ...others }),
    code(
      'a limit that is a text',
      "return new Parse.Query('Item_').limit('2').find();",
      { code: 141, ...others },
      { source: 'JS SDK, Parse.Query.limit' },
    ),
  ]),
];
