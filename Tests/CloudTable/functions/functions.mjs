// Cloud functions in today's style: parameters, results, errors.
import { call, containing, error, modern, others, pointer, post, result, subject } from '../rows.mjs';

const date = { __type: 'Date', iso: '2024-02-29T12:00:00.000Z' };

/** A function with this body, called with these parameters, and the client's answer. */
const row = (name, body, answer, params = {}, options = {}) => ({
  name,
  code: modern(body),
  ask: call(params, options),
  answer,
  ...options.row,
});

export default [
  ...subject('functions', 'Cloud Code guide, Cloud Functions', [
    row('a text', "return 'Hello ' + request.params.name;", result('Hello Ann'), { name: 'Ann' }),
    row('a number', 'return request.params.a + request.params.b;', result(4.5), { a: 1.5, b: 3 }),
    row(
      'a list and an object',
      'return { list: [1, "two", null, { three: 3 }] };',
      result({ list: [1, 'two', null, { three: 3 }] }),
    ),
    row('false', 'return false;', result(false)),
    row('zero', 'return 0;', result(0)),
    row('an empty text', "return '';", result('')),
    row('nothing', 'return;', result(), {}, { row: { source: 'protocol 11' } }),
    row('null', 'return null;', result(null)),
    row('a date', 'return new Date(Date.UTC(2024, 1, 29, 12));', result(date)),
    row('a promise in an object is awaited by the code', 'return { a: await Promise.resolve(1) };', result({ a: 1 })),
    row('a place', 'return new Parse.GeoPoint(40, -30);', result({ __type: 'GeoPoint', latitude: 40, longitude: -30 })),
    {
      name: 'a function without async',
      code: "Parse.Cloud.define('f_', (request) => request.params.a * 2);",
      ask: call({ a: 21 }),
      answer: result(42),
    },
    {
      name: 'a function without parameters',
      code: "Parse.Cloud.define('f_', () => 'alone');",
      ask: call(),
      answer: result('alone'),
    },
    {
      name: 'a promise',
      code: "Parse.Cloud.define('f_', () => new Promise((done) => setTimeout(done, 5, 'later')));",
      ask: call(),
      answer: result('later'),
    },
    {
      name: 'an object of a class',
      source: 'REST guide, Data Types',
      code: modern("return new Parse.Object('Item_').save({ n: 1 });"),
      ask: call(),
      answer: result({
        __type: 'Object',
        className: 'Item_',
        objectId: '<any id>',
        createdAt: '<any date>',
        updatedAt: '<any date>',
        n: 1,
      }),
    },
    {
      name: 'results of a query',
      source: 'REST guide, Data Types',
      code: modern("return new Parse.Query('Item_').ascending('n').find();"),
      before: [post('/classes/Item_', { n: 2 }), post('/classes/Item_', { n: 1 })],
      ask: call(),
      answer: result([
        { __type: 'Object', className: 'Item_', n: 1, ...others },
        { __type: 'Object', className: 'Item_', n: 2, ...others },
      ]),
    },
    row('who calls: nobody', 'return [request.user === undefined, request.master];', result([true, false])),
    row(
      'who calls: a user',
      'return [request.user.id, request.user.get("username")];',
      result(['<ann>', 'ann']),
      {},
      { as: 'ann' },
    ),
    row(
      'who calls: the master key',
      'return [request.user === undefined, request.master];',
      result([true, true]),
      {},
      { as: 'master' },
    ),
    row('its name', 'return request.functionName;', result('f_')),
    row('the installation', 'return request.installationId;', result('device-1'), {}, { installation: 'device-1' }),
    row('headers', "return request.headers['x-shop'];", result('blue'), {}, { headers: { 'X-Shop': 'blue' } }),
    row('an address', 'return typeof request.ip;', result('string')),
    row(
      'a context of the request',
      'return request.context;',
      result({ a: 1 }),
      {},
      { headers: { 'X-Parse-Cloud-Context': '{"a":1}' } },
    ),
    row(
      'a line in the log',
      "request.log.info('function-log-line'); return 1;",
      result(1),
      {},
      { row: { logs: ['function-log-line'] } },
    ),
    row(
      'console',
      "console.log('function-console-line', { a: 1 }); return 1;",
      result(1),
      {},
      { row: { logs: ['function-console-line { a: 1 }'] } },
    ),
  ]),
  ...subject('parameters', 'protocol 11: parameters decode __type values', [
    row(
      'a date',
      'return [request.params.at instanceof Date, request.params.at.getUTCFullYear()];',
      result([true, 2024]),
      { at: date },
    ),
    row('a pointer', 'return request.params.of.id;', result('abcdefghij'), { of: pointer('Item_', 'abcdefghij') }),
    row('a place', 'return request.params.at instanceof Parse.GeoPoint && request.params.at.latitude;', result(40), {
      at: { __type: 'GeoPoint', latitude: 40, longitude: -30 },
    }),
    row('nested', 'return request.params.a.b[0].at.toISOString();', result(date.iso), { a: { b: [{ at: date }] } }),
    row('none', 'return request.params;', result({}), undefined),
    row('are not shared with other calls', 'return Object.keys(request.params).sort();', result(['a', 'b']), {
      b: 1,
      a: 2,
    }),
  ]),
  ...subject('errors', 'Parse Server 3.0 migration guide', [
    row('a Parse.Error', "throw new Parse.Error(9001, 'Not today.');", error(9001, 'Not today.')),
    row(
      'a Parse.Error of the protocol',
      "throw new Parse.Error(Parse.Error.OBJECT_NOT_FOUND, 'gone');",
      error(101, 'gone'),
      {},
      { row: { source: 'protocol 11, 14' } },
    ),
    row('a Parse.Error of validation', "throw new Parse.Error(Parse.Error.VALIDATION_ERROR, 'no');", error(142, 'no')),
    row('an Error', "throw new Error('It broke.');", error(141, 'It broke.')),
    row('a text', "throw 'It broke.';", error(141, 'It broke.')),
    row('a rejected promise', "return Promise.reject(new Parse.Error(9002, 'later'));", error(9002, 'later')),
    row('a rejected promise with a text', "return Promise.reject('later');", error(141, 'later')),
    row('an error of the language', 'return nobody.knows;', error(141, 'nobody is not defined')),
    row('an error of a request', "return new Parse.Query('Item_').get('nobodyhere');", error(101, 'Object not found.')),
    row('nothing', 'throw undefined;', error(141, '<any text>')),
    row(
      'an error that is caught',
      "try { throw new Error('x'); } catch (error) { return error.message; }",
      result('x'),
    ),
    row('an object with a message', "throw { message: 'as an object' };", error(141, 'as an object')),
    row(
      'the stack is in the log',
      "throw new Error('function-stack-line');",
      error(141, 'function-stack-line'),
      {},
      { row: { logs: ['function-stack-line'] } },
    ),
    {
      name: 'a function that is not there',
      source: 'protocol 11',
      ask: call(),
      answer: error(141, 'Invalid function: "f_"'),
    },
    {
      name: 'a function of a call inside',
      source: 'Cloud Code guide, Cloud Functions',
      code: modern("return Parse.Cloud.run('nothere_');"),
      ask: call(),
      answer: error(141, 'Invalid function: "nothere_"'),
    },
    {
      name: 'a body that is no JSON',
      source: 'protocol 14',
      code: modern('return 1;'),
      ask: post('/functions/f_', '{"a":', { type: 'application/json' }),
      answer: { code: 107, ...others },
    },
    {
      name: 'a session that is over',
      source: 'protocol 14',
      code: modern('return 1;'),
      ask: call({}, { as: 'r:0123456789abcdef0123456789abcdef' }),
      answer: { code: 209, ...others },
    },
    {
      name: 'a context that is no object',
      source: 'protocol 1',
      code: modern('return 1;'),
      ask: call({}, { headers: { 'X-Parse-Cloud-Context': '[1]' } }),
      answer: { code: 107, ...others },
    },
    row('a result that is no JSON', 'const a = {}; a.a = a; return a;', { code: 141, ...others }),
  ]),
  ...subject('calls inside', 'JS guide, Cloud Functions', [
    {
      name: 'a function calls another',
      code: `Parse.Cloud.define('g_', ({ params }) => params.n + 1);
        Parse.Cloud.define('f_', () => Parse.Cloud.run('g_', { n: 1 }));`,
      ask: call(),
      answer: result(2),
    },
    {
      name: 'with the rights of nobody',
      code: `Parse.Cloud.define('g_', ({ master, user }) => [master, !!user]);
        Parse.Cloud.define('f_', () => Parse.Cloud.run('g_'));`,
      ask: call({}, { as: 'ann' }),
      answer: result([false, false]),
    },
    {
      name: "with the caller's session",
      code: `Parse.Cloud.define('g_', ({ user }) => user.id);
        Parse.Cloud.define('f_', ({ user }) => Parse.Cloud.run('g_', {}, { sessionToken: user.getSessionToken() }));`,
      ask: call({}, { as: 'ann' }),
      answer: result('<ann>'),
    },
    {
      name: 'with the master key',
      code: `Parse.Cloud.define('g_', ({ master }) => master);
        Parse.Cloud.define('f_', () => Parse.Cloud.run('g_', {}, { useMasterKey: true }));`,
      ask: call(),
      answer: result(true),
    },
    {
      name: "the other's error",
      code: `Parse.Cloud.define('g_', () => { throw new Parse.Error(9009, 'inside'); });
        Parse.Cloud.define('f_', () => Parse.Cloud.run('g_'));`,
      ask: call(),
      answer: error(9009, 'inside'),
    },
    {
      name: 'for ever',
      source: 'docs/guides/cloud-code.md, What happens when',
      code: "Parse.Cloud.define('f_', () => Parse.Cloud.run('f_'));",
      ask: call(),
      answer: { code: 141, error: containing('8 levels') },
    },
  ]),
];
