// Cloud functions in hosted Parse's style, which answer through response.
import { call, hosted, snippets } from '../snippets.mjs';

const failed = (code, message) => ({ error: { code, message } });

snippets("hosted Parse's functions answer through response", [
  {
    name: 'success with a value',
    code: hosted("response.success('Hello');"),
    run: call(),
    expected: { result: 'Hello' },
  },
  {
    name: 'success without a value',
    code: hosted('response.success();'),
    run: call(),
    expected: { result: undefined },
  },
  {
    name: 'success later',
    code: hosted("setTimeout(function () { response.success('late'); }, 5);"),
    run: call(),
    expected: { result: 'late' },
  },
  {
    name: 'what is returned means nothing',
    code: hosted("setTimeout(function () { response.success('right'); }, 5); return Parse.Promise.as('wrong');"),
    run: call(),
    expected: { result: 'right' },
  },
  {
    name: 'the first answer counts',
    code: hosted("response.success(1); response.error('no'); response.success(2);"),
    run: call(),
    expected: { result: 1 },
  },
  { name: 'error with a text', code: hosted("response.error('no');"), run: call(), expected: failed(141, 'no') },
  {
    name: 'error with a code and a text',
    code: hosted("response.error(101, 'gone');"),
    run: call(),
    expected: failed(101, 'gone'),
  },
  {
    name: 'error with a Parse.Error',
    code: hosted("response.error(new Parse.Error(202, 'taken'));"),
    run: call(),
    expected: failed(202, 'taken'),
  },
  {
    name: 'error with an Error',
    code: hosted("response.error(new Error('no'));"),
    run: call(),
    expected: failed(141, 'no'),
  },
  {
    name: 'error with an object',
    code: hosted('response.error({ a: 1 });'),
    run: call(),
    expected: failed(141, '{"a":1}'),
  },
  {
    name: 'error without anything',
    code: hosted('response.error();'),
    run: call(),
    expected: failed(141, 'Script failed.'),
  },
  {
    name: 'error with a text for a code',
    code: hosted("response.error('code', 'no');"),
    run: call(),
    expected: failed(141, 'no'),
  },
  { name: 'an exception', code: hosted("throw new Error('at once');"), run: call(), expected: failed(141, 'at once') },
  {
    name: 'an exception in a callback',
    code: hosted(`
      new Parse.Query('Game').find({ success: function (games) { games.nothing.length; response.success(); } });
    `),
    run: call(),
    answers: { 'GET /classes/Game': { results: [] } },
    expected: failed(141, /Cannot read properties/),
  },
  {
    name: 'an exception in a promise that is not returned',
    code: hosted("Parse.Promise.as(1).then(function () { throw new Error('inside'); });"),
    run: call(),
    expected: failed(141, 'inside'),
  },
  {
    name: 'a rejected promise that is returned',
    code: hosted("return Parse.Promise.error('no');"),
    run: call(),
    expected: failed(141, 'no'),
  },
  {
    name: 'a failed save that nobody looks at is no failure',
    code: hosted("new Parse.Object('Log').save(); setTimeout(function () { response.success('ok'); }, 30);"),
    run: call(),
    answers: { 'POST /classes/Log': { status: 400, body: { code: 119, error: 'no' } } },
    expected: { result: 'ok' },
    logs: [['error', 'Unhandled rejection']],
  },
  {
    name: 'callbacks of a query',
    code: hosted(`
      new Parse.Query('Game').find({ success: function (r) { response.success(r.length); }, error: function (e) {
      response.error(e); } });
    `),
    run: call(),
    answers: { 'GET /classes/Game': { results: [{ objectId: 'a' }, { objectId: 'b' }] } },
    expected: { result: 2 },
  },
  {
    name: 'the error callback of a query',
    code: hosted(`
      new Parse.Query('Game').get('x', { error: function (e) { response.error(e.code, 'gone: ' + e.message); } });
    `),
    run: call(),
    answers: { 'GET /classes/Game': { results: [] } },
    expected: failed(101, 'gone: Object not found.'),
  },
  {
    name: 'callbacks of a save',
    code: hosted(`
      new Parse.Object('Game').save({ score: 1 }, { success: function (game) { response.success(game.id); } });
    `),
    run: call(),
    answers: {
      'POST /classes/Game': { status: 201, body: { objectId: 'g1', createdAt: '2024-01-01T00:00:00.000Z' } },
    },
    expectedAsks: [{ method: 'POST', path: '/classes/Game', body: { score: 1 } }],
    expected: { result: 'g1' },
  },
  {
    name: 'callbacks as the only argument of a save',
    code: hosted(`
      var g = new Parse.Object('Game'); g.set('a', 1); g.save({ success: function () { response.success('saved'); },
      error: response.error });
    `),
    run: call(),
    answers: { 'POST /classes/Game': { status: 201, body: { objectId: 'g1' } } },
    expectedAsks: [{ body: { a: 1 } }],
    expected: { result: 'saved' },
  },
  {
    name: 'the error callback of a save gets the object first',
    code: hosted(`
      new Parse.Object('Game').save(null, { error: function (game, error) { response.error(error.code,
      game.className); } });
    `),
    run: call(),
    answers: { 'POST /classes/Game': { status: 400, body: { code: 142, error: 'no' } } },
    expected: failed(142, 'Game'),
  },
  {
    name: 'a chain of promises',
    code: hosted(`
      new Parse.Query('Game').first().then(function (game) { game.increment('plays'); return game.save(); })
      .then(function (game) { response.success(game.get('plays')); }, function (error) {
      response.error(error); });
    `),
    run: call(),
    answers: {
      'GET /classes/Game': { results: [{ objectId: 'g1', plays: 4 }] },
      'PUT /classes/Game/g1': { updatedAt: '2024-01-02T00:00:00.000Z', plays: 5 },
    },
    expectedAsks: [
      { method: 'GET' },
      { method: 'PUT', path: '/classes/Game/g1', body: { plays: { __op: 'Increment', amount: 1 } } },
    ],
    expected: { result: 5 },
  },
  {
    name: 'an async function with two parameters may return',
    code: "Parse.Cloud.define('f', async (request, response) => 'returned');",
    run: call(),
    expected: { result: 'returned' },
  },
  {
    name: 'an async function with two parameters may use response',
    code: "Parse.Cloud.define('f', async (request, response) => { response.success('said'); });",
    run: call(),
    expected: { result: 'said' },
  },
  {
    name: 'an async function with two parameters that throws',
    code: "Parse.Cloud.define('f', async (request, response) => { throw new Parse.Error(102, 'bad'); });",
    run: call(),
    expected: failed(102, 'bad'),
  },
]);
