// Triggers around reads of objects.
import { error, find, get, master, others, pointer, post, stored, subject } from './rows.mjs';

const _beforeSave = (body) =>
  `Parse.Cloud.beforeSave('Item_', async (request) => {\nconst { object } = request;\n${body}\n});`;
const one = (fields, options) => post('/classes/Item_', fields, { keep: { id: 'objectId' }, ...options });
const _reads = (fields) => ({ ...get('/classes/Item_/<id>'), answer: { ...stored, ...fields } });
const _nothing = { ...find('Item_'), answer: { results: [] } };
const _heard = (fields, more = {}) => ({
  ...find('Heard_', {}, master),
  answer: { results: [{ ...stored, ...fields, ...others }] },
  ...more,
});
const _change = { updatedAt: '<any date>' };
/** Writes down what a trigger heard. */
const _hear = (trigger, what) => `Parse.Cloud.${trigger}('Item_', (request) =>
  new Parse.Object('Heard_').save(${what}, { useMasterKey: true }));`;

export default [
  ...subject('beforeFind', 'Cloud Code guide, beforeFind', [
    {
      name: 'adds a condition',
      before: [one({ n: 1 }), one({ n: 2 })],
      code: "Parse.Cloud.beforeFind('Item_', (request) => { request.query.greaterThan('n', 1); });",
      ask: find('Item_'),
      answer: { results: [{ ...stored, n: 2 }] },
    },
    {
      name: 'selects keys',
      before: [one({ a: 1, b: 2 })],
      code: "Parse.Cloud.beforeFind('Item_', (request) => { request.query.select('a'); });",
      ask: find('Item_'),
      answer: { results: [{ ...stored, a: 1 }] },
    },
    {
      name: 'excludes keys',
      before: [one({ a: 1, b: 2 })],
      source: 'JS guide, Query Constraints',
      code: "Parse.Cloud.beforeFind('Item_', (request) => { request.query.exclude('b'); });",
      ask: find('Item_'),
      answer: { results: [{ ...stored, a: 1 }] },
    },
    {
      name: 'limits and orders',
      before: [one({ n: 1 }), one({ n: 3 }), one({ n: 2 })],
      code: "Parse.Cloud.beforeFind('Item_', (request) => { request.query.descending('n').limit(1); });",
      ask: find('Item_'),
      answer: { results: [{ ...stored, n: 3 }] },
    },
    {
      name: 'returns another query',
      before: [one({ n: 1 }), one({ n: 2 })],
      code: "Parse.Cloud.beforeFind('Item_', () => new Parse.Query('Item_').equalTo('n', 2));",
      ask: find('Item_', { n: 1 }),
      answer: { results: [{ ...stored, n: 2 }] },
    },
    {
      name: 'joins by or',
      before: [one({ n: 1 }), one({ n: 2 }), one({ n: 3 })],
      code: `Parse.Cloud.beforeFind('Item_', ({
        query }) => Parse.Query.or(query, new Parse.Query('Item_').equalTo('n', 2)).ascending('n'));`,
      ask: find('Item_', { n: 1 }),
      answer: {
        results: [
          { ...stored, n: 1 },
          { ...stored, n: 2 },
        ],
      },
    },
    {
      name: 'refuses',
      code: "Parse.Cloud.beforeFind('Item_', () => { throw new Parse.Error(101, 'Nothing here.'); });",
      ask: find('Item_'),
      answer: error(101, 'Nothing here.'),
      status: 404,
    },
    {
      name: 'rejects',
      code: "Parse.Cloud.beforeFind('Item_', () => Promise.reject('Nothing here.'));",
      ask: find('Item_'),
      answer: error(141, 'Nothing here.'),
    },
    {
      name: 'of a get',
      before: [one({ n: 1 })],
      code: "Parse.Cloud.beforeFind('Item_', ({ isGet, query }) => { if (isGet) query.select('nothing'); });",
      ask: get('/classes/Item_/<id>'),
      answer: stored,
      source: 'Parse Server: isGet of find triggers',
    },
    {
      name: 'knows of a count',
      before: [one({}), one({})],
      code: `Parse.Cloud.beforeFind('Item_', ({ count }) => { if (count) throw new Parse.Error(9001, 'No counts.');
        });`,
      ask: find('Item_', {}, { more: '&count=1&limit=0' }),
      answer: error(9001, 'No counts.'),
    },
    {
      name: 'knows who and whether with the master key',
      before: [one({ n: 1 })],
      code: `Parse.Cloud.beforeFind('Item_', ({ master, user, query }) => {
        if (!master && !user) query.equalTo('n', 0); });`,
      ask: find('Item_'),
      answer: { results: [] },
      after: [
        { ...find('Item_', {}, master), answer: { results: [{ ...stored, n: 1 }] } },
        { ...find('Item_', {}, { as: 'ann' }), answer: { results: [{ ...stored, n: 1 }] } },
      ],
    },
    {
      name: 'answers objects itself',
      source: 'Parse Server 7 release notes: beforeFind returns objects',
      code: "Parse.Cloud.beforeFind('Item_', () => [new Parse.Object('Item_', { made: true })]);",
      ask: find('Item_'),
      answer: { results: [{ made: true, ...others }] },
    },
    {
      name: 'of an include',
      before: [
        post('/classes/Other_', { n: 1 }, { keep: { other: 'objectId' } }),
        one({ other: pointer('Other_', '<other>') }),
      ],
      code: "Parse.Cloud.beforeFind('Other_', ({ query }) => { query.exclude('n'); });",
      ask: find('Item_', {}, { more: '&include=other' }),
      source: 'docs/providers/webhooks.md, In which order things are decided',
      answer: { results: [{ ...stored, other: { __type: 'Object', className: 'Other_', ...stored } }] },
    },
  ]),
  ...subject('afterFind', 'Cloud Code guide, afterFind', [
    {
      name: 'changes objects',
      before: [one({ n: 1 })],
      code: `Parse.Cloud.afterFind('Item_', ({ objects }) => {
        objects.forEach((object) => object.set('n', object.get('n') + 1)); return objects; });`,
      ask: find('Item_'),
      answer: { results: [{ ...stored, n: 2 }] },
    },
    {
      name: 'leaves some out',
      before: [one({ n: 1 }), one({ n: 2 })],
      code: "Parse.Cloud.afterFind('Item_', ({ objects }) => objects.filter((object) => object.get('n') > 1));",
      ask: find('Item_'),
      answer: { results: [{ ...stored, n: 2 }] },
    },
    {
      name: 'hides a field',
      before: [one({ open: 1, secret: 2 })],
      code: `Parse.Cloud.afterFind('Item_', ({ objects }) => { objects.forEach((object) => object.unset('secret'));
        return objects; });`,
      ask: find('Item_'),
      answer: { results: [{ ...stored, open: 1 }] },
    },
    {
      name: 'of a get',
      before: [one({ n: 1 })],
      code: "Parse.Cloud.afterFind('Item_', ({ objects }) => { objects[0].set('seen', true); return objects; });",
      ask: get('/classes/Item_/<id>'),
      answer: { ...stored, n: 1, seen: true },
    },
    {
      name: 'refuses',
      before: [one({})],
      code: "Parse.Cloud.afterFind('Item_', () => { throw new Parse.Error(9003, 'Hidden.'); });",
      ask: find('Item_'),
      answer: error(9003, 'Hidden.'),
    },
    {
      name: 'returns nothing',
      before: [one({ n: 1 })],
      code: "Parse.Cloud.afterFind('Item_', () => {});",
      ask: find('Item_'),
      answer: { results: [{ ...stored, n: 1 }] },
      source: 'Parse Server 3.0 migration guide',
    },
    {
      name: 'returns no objects',
      before: [one({})],
      code: "Parse.Cloud.afterFind('Item_', () => 'text');",
      ask: find('Item_'),
      answer: { code: 141, ...others },
    },
    {
      name: 'context from beforeFind',
      before: [one({})],
      source: 'docs/cloud-code.md, beforeSave',
      code: `Parse.Cloud.beforeFind('Item_', (request) => { request.context.by = 'find'; });
        Parse.Cloud.afterFind('Item_', ({ objects, context }) => { objects[0].set('by', context.by); return objects;
          });`,
      ask: find('Item_'),
      answer: { results: [{ ...stored, by: 'find' }] },
    },
  ]),
];
