// The members of a function's request, and the calls that functions make.
import { call, hosted, modern, snippets } from '../snippets.mjs';

const failed = (code, message) => ({ error: { code, message } });
const pointer = (className, objectId) => ({ __type: 'Pointer', className, objectId });
const ann = { objectId: 'u1', username: 'ann', sessionToken: 'r:ann', createdAt: '2024-01-01T00:00:00.000Z' };

snippets('what a request has', [
  {
    name: 'parameters',
    code: modern('return request.params;'),
    run: call({ a: 1, b: ['x'] }),
    expected: { result: { a: 1, b: ['x'] } },
  },
  { name: 'dates are dates', code: modern('return request.params.at.getTime() + request.params.at.iso.length;'),
    run: call({ at: { __type: 'Date', iso: '1970-01-01T00:00:00.001Z' } }), expected: { result: 25 } },
  {
    name: 'pointers are objects, with the members of the JSON',
    code: modern(`
      const { game } = request.params; return [game instanceof Parse.Object, game.id, game.objectId,
      game.className];
    `),
    run: call({ game: pointer('Game', 'g1') }),
    expected: { result: [true, 'g1', 'g1', 'Game'] },
  },
  {
    name: 'files and places',
    code: modern('return [request.params.f.url(), request.params.p.latitude];'),
    run: call({
      f: { __type: 'File', name: 'a', url: 'http://x/a' },
      p: { __type: 'GeoPoint', latitude: 3, longitude: 4 },
    }),
    expected: { result: ['http://x/a', 3] },
  },
  {
    name: 'a __proto__ in parameters changes nothing',
    code: modern('return [({}).evil, request.params.evil, Object.keys(request.params)];'),
    run: { ...call(), params: JSON.parse('{"__proto__":{"evil":1},"a":1}') },
    expected: { result: [undefined, undefined, ['a']].map((v) => v ?? null) },
  },
  {
    name: 'the user',
    code: modern(`
      return [request.user.id, request.user.get("username"), request.user.getSessionToken(),
      request.user instanceof Parse.User];
    `),
    run: call({}, { user: ann }),
    expected: { result: ['u1', 'ann', 'r:ann', true] },
  },
  {
    name: 'no user',
    code: modern('return [request.user === undefined, request.master];'),
    run: call(),
    expected: { result: [true, false] },
  },
  {
    name: 'the rest',
    code: modern(`
      return [request.master, request.installationId, request.ip, request.headers["x-a"], request.functionName,
      request.context.k, typeof request.log.info];
    `),
    run: call({}, { master: true, installationId: 'i1', ip: '10.0.0.1', headers: { 'x-a': 'b' }, context: { k: 1 } }),
    expected: { result: [true, 'i1', '10.0.0.1', 'b', 'f', 1, 'function'] },
  },
  {
    name: 'nobody is the current user',
    code: modern('return [Parse.User.current() === undefined, Parse.masterKey === undefined];'),
    run: call({}, { user: ann }),
    expected: { result: [true, true] },
  },
  {
    name: "the caller is the current user in hosted Parse's way",
    code: modern('return Parse.User.current().id;'),
    config: { actAsCaller: true },
    run: call({}, { user: ann }),
    expected: { result: 'u1' },
  },
  {
    name: 'initialize and keys change nothing',
    code: modern(`
      Parse.initialize('a', 'b', 'c'); Parse.serverURL = 'http://elsewhere'; Parse.masterKey = 'x';
      return [Parse.applicationId, Parse.serverURL, Parse.masterKey === undefined];
    `),
    run: call(),
    expected: { result: ['satchel', 'http://127.0.0.1:1337/parse', true] },
  },
]);

snippets('functions call functions and jobs', [
  {
    name: 'run',
    code: modern(`
      return Parse.Cloud.run('other', { at: new Date(0), game: Parse.Object.fromJSON({ className: 'Game',
      objectId: 'g1' }) }, { sessionToken: 'r:x' });
    `),
    run: call(),
    answers: { 'POST /functions/other': { result: { __type: 'Date', iso: '2024-01-01T00:00:00.000Z' } } },
    expectedAsks: [{
      method: 'POST',
      path: '/functions/other',
      body: { at: { __type: 'Date', iso: '1970-01-01T00:00:00.000Z' }, game: pointer('Game', 'g1') },
      auth: { master: false, sessionToken: 'r:x' },
    }],
    expected: { result: { __type: 'Date', iso: '2024-01-01T00:00:00.000Z' } },
  },
  {
    name: 'run with callbacks',
    code: hosted(`
      Parse.Cloud.run('other', {}, { success: function (x) { response.success(x + 1); }, error: function (e) {
      response.error(e); } });
    `),
    run: call(),
    answers: { 'POST /functions/other': { result: 1 } },
    expected: { result: 2 },
  },
  {
    name: 'run that fails',
    code: modern(`
      return Parse.Cloud.run('other').catch((error) => [error instanceof Parse.Error, error.code, error.message]);
    `),
    run: call(),
    answers: { 'POST /functions/other': { status: 400, body: { code: 141, error: 'no' } } },
    expected: { result: [true, 141, 'no'] },
  },
  {
    name: 'run without a name',
    code: modern("return Parse.Cloud.run('');"),
    run: call(),
    expectedAsks: [],
    expected: failed(141, 'Cloud function name must be a string.'),
  },
  { name: 'startJob', code: modern("return Parse.Cloud.startJob('clean', { days: 3 });"), run: call(),
    answers: { 'POST /jobs/clean': { status: 200, body: {}, headers: { 'X-Parse-Job-Status-Id': 'j1' } } },
    expectedAsks: [{ path: '/jobs/clean', body: { days: 3 }, auth: { master: true } }], expected: { result: 'j1' } },
  {
    name: 'getJobStatus',
    code: modern("return (await Parse.Cloud.getJobStatus('j1')).get('status');"),
    run: call(),
    answers: { 'GET /classes/_JobStatus': { results: [{ objectId: 'j1', status: 'running' }] } },
    expectedAsks: [{ auth: { master: true } }],
    expected: { result: 'running' },
  },
  {
    name: 'getJobsData',
    code: modern('return Parse.Cloud.getJobsData();'),
    run: call(),
    answers: { 'GET /cloud_code/jobs/data': { in_use: [], jobs: ['a'] } },
    expected: { result: { in_use: [], jobs: ['a'] } },
  },
  {
    name: 'sendEmail asks the shop with the master key',
    code: modern("return Parse.Cloud.sendEmail({ to: 'ann@x.example', subject: 'Hi', text: 'Hello', cc: undefined });"),
    run: call(),
    answers: { 'POST /functions/sendShopMail': { result: { mails: [{ id: 1, messageId: 'm@shop.example' }] } } },
    expectedAsks: [
      {
        path: '/functions/sendShopMail',
        body: { to: 'ann@x.example', subject: 'Hi', text: 'Hello' },
        auth: { master: true },
      },
    ],
    expected: { result: { mails: [{ id: 1, messageId: 'm@shop.example' }] } },
  },
  {
    name: "sendEmail's refusal is the code's to catch",
    code: modern("return Parse.Cloud.sendEmail('text').catch((error) => [error.code, error.message]);"),
    run: call(),
    answers: { 'POST /functions/sendShopMail': { status: 400, body: { code: 142, error: 'to is needed.' } } },
    expectedAsks: [{ body: {}, auth: { master: true } }],
    expected: { result: [142, 'to is needed.'] },
  },
]);
