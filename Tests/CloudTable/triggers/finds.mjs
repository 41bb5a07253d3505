// Triggers around reads of objects.
import { error, find, get, master, others, pointer, post, stored, subject } from '../rows.mjs';

const _beforeSave = (body) =>
  `Parse.Cloud.beforeSave('Item_', async (request) => {\nconst { object } = request;\n${body}\n});`;
const one = (fields, options) => post('/classes/Item_', fields, { keep: { id: 'objectId' }, ...options });
const _reads = (fields) => ({ ...get('/classes/Item_/<id>'), answer: { ...stored, ...fields } });
const withOther = [
  post('/classes/Other_', { n: 1 }, { keep: { other: 'objectId' } }),
  one({ other: pointer('Other_', '<other>'), n: 1 }),
];
const included = { __type: 'Object', className: 'Other_', ...stored, n: 1 };
/** The query that a trigger receives. */
const query =
  '(({ where, keys, include, excludeKeys, limit, skip, order, count, readPreference, ...more }) => ' +
  '[where, keys, include, excludeKeys, limit, skip, order, count, readPreference, Object.keys(more)])' +
  '(request.query.toJSON())';
const asked = '&keys=n&include=other,p&excludeKeys=x&limit=5&skip=1&order=-n&count=1&readPreference=PRIMARY';
const heardOf = [{ n: 1 }, 'n', 'other,p', 'x', 5, 1, '-n', 1, 'PRIMARY', []];
const _nothing = { ...find('Item_'), answer: { results: [] } };
const _heard = (fields, more = {}) => ({
  ...find('Heard_', {}, master),
  answer: { results: [{ ...stored, ...fields, ...others }] },
  ...more,
});
const _change = { updatedAt: '<any date>' };
/** Records a trigger's input. */
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
      source: 'docs/guides/webhooks.md, In which order things are decided',
      answer: { results: [{ ...stored, other: { __type: 'Object', className: 'Other_', ...stored } }] },
    },
  ]),
  ...subject('the query', 'Parse Server #6960 and CloudCode.spec, find hooks', [
    {
      name: 'is whole in beforeFind',
      code: `Parse.Cloud.beforeFind('Item_', (request) => { throw new Parse.Error(9001, JSON.stringify(${query})); });`,
      ask: find('Item_', { n: 1 }, { more: asked }),
      answer: error(9001, JSON.stringify(heardOf)),
    },
    {
      name: 'is whole in afterFind',
      before: [one({ n: 1 }), one({ n: 1 })],
      code: `Parse.Cloud.afterFind('Item_', (request) => {
        throw new Parse.Error(9001, JSON.stringify([...${query}, request.isGet, request.count])); });`,
      ask: find('Item_', { n: 1 }, { more: asked }),
      answer: error(9001, JSON.stringify([...heardOf, false, true])),
    },
    {
      name: 'is in afterFind as beforeFind left it',
      before: [one({ n: 1 })],
      code: `Parse.Cloud.beforeFind('Item_', (request) => { request.query.equalTo('n', 1).limit(3).include('p'); });
        Parse.Cloud.afterFind('Item_', (request) => { throw new Parse.Error(9001, JSON.stringify(${query})); });`,
      ask: find('Item_', {}, { more: '&limit=5&keys=n' }),
      answer: error(9001, JSON.stringify([{ n: 1 }, 'n', 'p', null, 3, null, null, null, null, []])),
    },
    {
      name: 'is whole in a get',
      before: [one({ n: 1 })],
      code: `Parse.Cloud.beforeFind('Item_', () => {});
        Parse.Cloud.afterFind('Item_', (request) => {
          throw new Parse.Error(9001, JSON.stringify([...${query}, request.isGet])); });`,
      ask: get('/classes/Item_/<id>?keys=n&include=other&readPreference=PRIMARY'),
      answer: error(9001, `[{"objectId":"<id>"},"n","other",null,1,null,null,null,"PRIMARY",[],true]`),
    },
    {
      name: 'gets an include from beforeFind',
      before: withOther,
      code: "Parse.Cloud.beforeFind('Item_', ({ query }) => { query.include('other'); });",
      ask: find('Item_'),
      answer: { results: [{ ...stored, n: 1, other: included }] },
      after: [{ ...get('/classes/Item_/<id>'), answer: { ...stored, n: 1, other: included } }],
    },
    {
      name: 'gets an include beside keys',
      before: withOther,
      code: "Parse.Cloud.beforeFind('Item_', ({ query }) => { query.include('other').select('other.n'); });",
      ask: find('Item_', {}, { more: '&keys=other' }),
      answer: { results: [{ ...stored, other: included }] },
    },
    {
      name: 'loses its include in beforeFind',
      before: withOther,
      code: "Parse.Cloud.beforeFind('Item_', ({ query }) => { query._include = []; });",
      ask: find('Item_', {}, { more: '&include=other' }),
      answer: { results: [{ ...stored, n: 1, other: pointer('Other_', '<other>') }] },
    },
    {
      name: 'includes nothing that the caller may not read',
      before: [
        post('/classes/Other_', { n: 1, ACL: {} }, { ...master, keep: { other: 'objectId' } }),
        one({ other: pointer('Other_', '<other>'), n: 1 }),
      ],
      code: "Parse.Cloud.beforeFind('Item_', ({ query }) => { query.include('other'); });",
      ask: find('Item_'),
      answer: { results: [{ ...stored, n: 1 }] },
    },
    {
      name: 'of a get may have more keys',
      before: [one({ a: 1, b: 2 })],
      code: "Parse.Cloud.beforeFind('Item_', ({ query }) => { query.select('b'); });",
      ask: get('/classes/Item_/<id>?keys=a'),
      answer: { ...stored, a: 1, b: 2 },
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
      source: 'docs/guides/cloud-code.md, beforeSave',
      code: `Parse.Cloud.beforeFind('Item_', (request) => { request.context.by = 'find'; });
        Parse.Cloud.afterFind('Item_', ({ objects, context }) => { objects[0].set('by', context.by); return objects;
          });`,
      ask: find('Item_'),
      answer: { results: [{ ...stored, by: 'find' }] },
    },
  ]),
];
