// Users, files, Config, pushes, schemas, analytics, HTTP, promises and Underscore.
import assert from 'node:assert/strict';
import http from 'node:http';
import { test } from 'node:test';
import { FakeHost } from './fake-host.mjs';
import { call, hosted, modern, snippets } from './snippets.mjs';

const failed = (code, message) => ({ error: { code, message } });
const ann = { objectId: 'u1', username: 'ann', sessionToken: 'r:ann' };

snippets('users', [
  { name: 'logIn', code: modern("const u = await Parse.User.logIn('ann', 'p'); return [u.id, u.getSessionToken(), u.authenticated(), u instanceof Parse.User];"), run: call(), answers: { 'POST /login': ann },
    expectedAsks: [{ method: 'POST', path: '/login', body: { username: 'ann', password: 'p' } }], expected: { result: ['u1', 'r:ann', true, true] } },
  { name: 'logIn with a wrong password', code: modern("return Parse.User.logIn('ann', 'x');"), run: call(), answers: { 'POST /login': { status: 404, body: { code: 101, error: 'Invalid username/password.' } } }, expected: failed(101, 'Invalid username/password.') },
  { name: 'logIn without texts', code: modern('return Parse.User.logIn(5);'), run: call(), expectedAsks: [], expected: failed(-1, 'Username must be a string.') },
  { name: 'signUp', code: modern("const u = await Parse.User.signUp('ann', 'p', { phone: '1' }); return [u.id, u.get('phone')];"), run: call(), answers: { 'POST /users': { status: 201, body: { objectId: 'u1', sessionToken: 'r:ann' } } },
    expectedAsks: [{ path: '/users', body: { phone: '1', username: 'ann', password: 'p' } }], expected: { result: ['u1', '1'] } },
  { name: 'signUp without a name', code: modern("return new Parse.User().signUp();"), run: call(), expectedAsks: [], expected: failed(200, 'Cannot sign up user with an empty username.') },
  { name: 'signUp with callbacks', code: hosted("var u = new Parse.User(); u.set('username', 'ann'); u.set('password', 'p'); u.signUp(null, { success: function (user) { response.success(user.id); }, error: function (user, error) { response.error(error.code, error.message); } });"), run: call(),
    answers: { 'POST /users': { status: 400, body: { code: 202, error: 'taken' } } }, expected: failed(202, 'taken') },
  { name: 'become', code: modern("return (await Parse.User.become('r:ann')).getSessionToken();"), run: call(), answers: { 'GET /users/me': { objectId: 'u1' } }, expectedAsks: [{ method: 'GET', path: '/users/me', auth: { master: false, sessionToken: 'r:ann' } }], expected: { result: 'r:ann' } },
  { name: 'requestPasswordReset', code: modern("await Parse.User.requestPasswordReset('a@b.c');"), run: call(), answers: { 'POST /requestPasswordReset': {} }, expectedAsks: [{ body: { email: 'a@b.c' } }], expected: { result: undefined } },
  { name: 'an anonymous user', code: modern("return (await Parse.AnonymousUtils.logIn()).id;"), run: call(), answers: { 'POST /users': (ask) => (/^[-0-9a-f]{36}$/.test(ask.body.authData.anonymous.id) ? { objectId: 'u9' } : { status: 400, body: {} }) }, expected: { result: 'u9' } },
  { name: 'the session of a request', code: modern("return (await Parse.Session.current({ sessionToken: request.user.getSessionToken() })).id;"), run: call({}, { user: ann }), answers: { 'GET /sessions/me': { objectId: 's1' } }, expectedAsks: [{ auth: { sessionToken: 'r:ann' } }], expected: { result: 's1' } },
  { name: 'loginAs', code: modern("return (await Parse.User.loginAs('u1')).id;"), run: call(), answers: { 'POST /loginAs': ann }, expectedAsks: [{ body: { userId: 'u1' }, auth: { master: true } }], expected: { result: 'u1' } },
  { name: 'a request without rights', code: modern("return new Parse.Query('A').find();"), run: call(), answers: { 'GET /classes/A': { status: 403, body: { error: 'unauthorized' } } }, expected: failed(119, 'unauthorized') },
  { name: 'an error of the server', code: modern("return new Parse.Query('A').find();"), run: call(), answers: { 'GET /classes/A': { status: 503, body: null } }, expected: failed(1, 'The server answered with status 503.') },
]);

snippets('files, Config, pushes, schemas and analytics', [
  { name: 'a file of bytes', code: modern("const f = await new Parse.File('a b.txt', [104, 105], 'text/plain', { m: 1 }).save({ useMasterKey: true }); return [f.name(), f.url({ forceSecure: true }), f.toJSON()];"), run: call(), answers: { 'POST /files/a%20b.txt': { name: 'n', url: 'http://x/n' } },
    expectedAsks: [{ method: 'POST', path: '/files/a%20b.txt', body: { base64: 'aGk=', _ContentType: 'text/plain', fileData: { metadata: { m: 1 }, tags: {} } }, auth: { master: true } }], expected: { result: ['n', 'https://x/n', { __type: 'File', name: 'n', url: 'http://x/n' }] } },
  { name: 'a data URI', code: modern("await new Parse.File('a', { base64: 'data:image/png;base64,aGk=' }).save();"), run: call(), answers: { 'POST /files/a': { name: 'n', url: 'u' } }, expectedAsks: [{ body: { base64: 'aGk=', _ContentType: 'image/png', fileData: { metadata: {}, tags: {} } } }], expected: { result: undefined } },
  { name: 'a file without content', code: modern("return new Parse.File('a').save();"), run: call(), expectedAsks: [], expected: failed(130, /without content/) },
  { name: 'the content of a file that is not saved', code: modern("return new Parse.File('a').getData();"), run: call(), expected: failed(151, /unsaved/) },
  { name: 'deleting a file', code: modern("await Parse.File.fromJSON({ __type: 'File', name: 'n', url: 'u' }).destroy();"), run: call(), answers: { 'DELETE /files/n': {} }, expectedAsks: [{ method: 'DELETE', auth: { master: true } }], expected: { result: undefined } },
  { name: 'Config.get', code: modern("const c = await Parse.Config.get({ useMasterKey: true }); return [c.get('a'), c.get('d').getTime(), Parse.Config.current().get('a'), c.escape('h')];"), run: call(),
    answers: { 'GET /config': { params: { a: 1, d: { __type: 'Date', iso: '1970-01-01T00:00:00.005Z' }, h: '<' } } }, expectedAsks: [{ auth: { master: true } }], expected: { result: [1, 5, 1, '&lt;'] } },
  { name: 'Config.save', code: modern("return (await Parse.Config.save({ a: 2 }, { a: true })).get('a');"), run: call(), answers: { 'PUT /config': { result: true }, 'GET /config': { params: { a: 2 } } },
    expectedAsks: [{ method: 'PUT', body: { params: { a: 2 }, masterKeyOnly: { a: true } }, auth: { master: true } }, { method: 'GET' }], expected: { result: 2 } },
  { name: 'Push.send', code: modern("return Parse.Push.send({ where: new Parse.Query(Parse.Installation).equalTo('deviceType', 'ios'), data: { alert: 'hi' }, push_time: new Date(0) });"), run: call(),
    answers: { 'POST /push': { status: 200, body: { result: true }, headers: { 'x-parse-push-status-id': 'p1' } } },
    expectedAsks: [{ method: 'POST', path: '/push', body: { where: { deviceType: 'ios' }, data: { alert: 'hi' }, push_time: '1970-01-01T00:00:00.000Z' }, auth: { master: true } }], expected: { result: 'p1' } },
  { name: 'Push.send with callbacks', code: hosted("Parse.Push.send({ channels: ['a'], data: { alert: 'hi' } }, { success: function () { response.success('sent'); }, error: function (e) { response.error(e); } });"), run: call(), answers: { 'POST /push': { result: true } }, expected: { result: 'sent' } },
  { name: 'Push.send with two expirations', code: modern("return Parse.Push.send({ expiration_time: new Date(), expiration_interval: 5 });"), run: call(), expectedAsks: [], expected: failed(141, /cannot both be set/) },
  { name: 'a schema', code: modern("await new Parse.Schema('Game').addString('name', { required: true }).addPointer('owner', '_User').deleteField('old').save();"), run: call(), answers: { 'POST /schemas/Game': {} },
    expectedAsks: [{ body: { className: 'Game', fields: { name: { type: 'String', required: true }, owner: { type: 'Pointer', targetClass: '_User' }, old: { __op: 'Delete' } }, indexes: {} }, auth: { master: true } }], expected: { result: undefined } },
  { name: 'an event', code: modern("await Parse.Analytics.track('search', { city: 'Oslo' });"), run: call(), answers: { 'POST /events/search': {} }, expectedAsks: [{ body: { dimensions: { city: 'Oslo' } } }], expected: { result: undefined } },
]);

snippets("hosted Parse's promises", [
  { name: 'as and then', code: hosted("Parse.Promise.as(1, 2).then(function (a, b) { response.success(a + b); });"), run: call(), expected: { result: 3 } },
  { name: 'when of arguments', code: hosted("Parse.Promise.when(Parse.Promise.as(1), 2).then(function (a, b) { response.success([a, b]); });"), run: call(), expected: { result: [1, 2] } },
  { name: 'when of an array, by arguments', code: hosted("Parse.Promise.when([Parse.Promise.as(1), 2]).then(function () { response.success(arguments.length); });"), run: call(), expected: { result: 2 } },
  { name: 'when of an array, as an array', code: hosted("Parse.Promise.when([Parse.Promise.as(1), 2]).then(function (all) { response.success(all); });"), run: call(), expected: { result: [1, 2] } },
  { name: 'when of nothing', code: hosted("Parse.Promise.when([]).then(function () { response.success('none'); });"), run: call(), expected: { result: 'none' } },
  { name: 'when that fails', code: hosted("Parse.Promise.when(Parse.Promise.error('a'), Parse.Promise.as(1)).then(null, function (errors) { response.success(errors[0]); });"), run: call(), expected: { result: 'a' } },
  { name: 'a promise that is resolved later', code: hosted("var p = new Parse.Promise(); setTimeout(function () { p.resolve('x'); }, 2); p.then(response.success);"), run: call(), expected: { result: 'x' } },
  { name: 'a promise that is rejected later', code: hosted("var p = new Parse.Promise(); setTimeout(function () { p.reject('x'); }, 2); p.fail(response.error);"), run: call(), expected: failed(141, 'x') },
  { name: 'done, fail, always', code: hosted("Parse.Promise.error('e').done(function () { response.success('wrong'); }).fail(function (e) { return e + '!'; }).always(function (x) { response.success(x); });"), run: call(), expected: { result: 'e!' } },
  { name: 'a chain of saves one after the other', code: hosted("var p = Parse.Promise.as(); Parse._.each(['a', 'b'], function (id) { p = p.then(function () { return Parse.Object.fromJSON({ className: 'Game', objectId: id }).destroy(); }); }); p.then(function () { response.success('ok'); });"), run: call(),
    answers: { 'DELETE /classes/Game/a': {}, 'DELETE /classes/Game/b': {} }, expectedAsks: [{ path: '/classes/Game/a' }, { path: '/classes/Game/b' }], expected: { result: 'ok' } },
  { name: 'await of many', code: modern('return [await Parse.Promise.when([1, 2]), await Parse.Promise.as(3), Parse.Promise.is(Parse.Promise.as())];'), run: call(), expected: { result: [[1, 2], 3, true] } },
  { name: 'all of the language', code: modern('return Parse.Promise.all([1, Parse.Promise.as(2)]);'), run: call(), expected: { result: [1, 2] } },
]);

const underscore = (expression, expected) => ({ name: expression, code: modern(`const _ = Parse._; return ${expression};`), run: call(), expected: { result: expected } });
snippets('Parse._', [
  underscore("[_.map([1, 2], (x) => x * 2), _.filter([1, 2], (x) => x > 1), _.reduce([1, 2], (a, b) => a + b, 0), _.find([1, 2], (x) => x > 1), _.pluck([{ a: 1 }], 'a')]", [[2, 4], [2], 3, 2, [1]]),
  underscore("[_.uniq([1, 1, 2]), _.contains([1], 1), _.keys({ a: 1 }), _.values({ a: 1 }), _.extend({ a: 1 }, { b: 2 }), _.isEmpty({}), _.isEmpty([1]), _.isString('x')]", [[1, 2], true, ['a'], [1], { a: 1, b: 2 }, true, false, true]),
  underscore("[_.groupBy([1, 2, 3], (x) => x % 2), _.sortBy([3, 1, 2]), _.max([1, 5, 2]), _.first([1, 2]), _.last([1, 2]), _.flatten([1, [2, [3]]]), _.without([1, 2], 1), _.pick({ a: 1, b: 2 }, 'a'), _.omit({ a: 1, b: 2 }, 'a')]",
    [{ 0: [2], 1: [1, 3] }, [1, 2, 3], 5, 1, 2, [1, 2, 3], [2], { a: 1 }, { b: 2 }]),
  underscore("[_.chain([3, 1]).sortBy().map((x) => x + 1).value(), _.zip([1, 2], ['a', 'b']), _.object(['a'], [1]), _.range(2, 5), _.where([{ a: 1 }, { a: 2 }], { a: 2 }), _.isFunction(_.each), _.escape('<')]",
    [[2, 4], [[1, 'a'], [2, 'b']], { a: 1 }, [2, 3, 4], [{ a: 2 }], true, '&lt;']),
  underscore("(() => { const seen = []; _.each({ a: 1, b: 2 }, (value, key) => seen.push(key + value)); return seen; })()", ['a1', 'b2']),
]);

test('httpRequest', async (suite) => {
  const server = http.createServer((request, response) => {
    const chunks = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
      const url = new URL(request.url, 'http://x');
      if (url.pathname === '/redirect') return response.writeHead(302, { Location: '/echo?r=1' }).end();
      if (url.pathname === '/bad') return response.writeHead(404).end('nothing here');
      response.writeHead(200, { 'Content-Type': 'application/json', 'Set-Cookie': 'a=b' });
      return response.end(JSON.stringify({ method: request.method, url: request.url, type: request.headers['content-type'], body: Buffer.concat(chunks).toString() }));
    });
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const base = `http://127.0.0.1:${server.address().port}`;
  const rows = [
    ['a GET with parameters', `return (await Parse.Cloud.httpRequest({ url: '${base}/echo', params: { q: 'a b' } })).data;`, { method: 'GET', url: '/echo?q=a+b', body: '' }],
    ['parameters as a text', `return (await Parse.Cloud.httpRequest({ url: '${base}/echo?x=1', params: 'q=a' })).data.url;`, '/echo?x=1&q=a'],
    ['a form', `return (await Parse.Cloud.httpRequest({ method: 'POST', url: '${base}/echo', body: { a: 1, b: 'x y' } })).data;`, { method: 'POST', url: '/echo', type: 'application/x-www-form-urlencoded', body: 'a=1&b=x%20y' }],
    ['JSON', `return (await Parse.Cloud.httpRequest({ method: 'PUT', url: '${base}/echo', headers: { 'content-type': 'application/json' }, body: { a: 1 } })).data;`, { method: 'PUT', url: '/echo', type: 'application/json', body: '{"a":1}' }],
    ['the answer', `const r = await Parse.Cloud.httpRequest({ url: '${base}/echo' }); return [r.status, r.headers['content-type'], r.cookies, r.text.length > 5, Buffer.isBuffer(r.buffer)];`, [200, 'application/json', ['a=b'], true, true]],
    ['no redirect', `return (await Parse.Cloud.httpRequest({ url: '${base}/redirect' })).status;`, 302],
    ['a redirect', `return (await Parse.Cloud.httpRequest({ url: '${base}/redirect', followRedirects: true })).data.url;`, '/echo?r=1'],
    ['a failure', `return Parse.Cloud.httpRequest({ url: '${base}/bad' }).catch((r) => [r.status, r.text]);`, [404, 'nothing here']],
    ['a failure that goes on', `return Parse.Cloud.httpRequest({ url: '${base}/bad' });`, { code: 141, message: 'Request failed with response code 404' }],
    ['no server', "return Parse.Cloud.httpRequest({ url: 'http://127.0.0.1:1/' }).catch((e) => e.code);", 'ECONNREFUSED'],
    ['another protocol', "return Parse.Cloud.httpRequest({ url: 'file:///etc/passwd' });", { code: 141, message: 'Cannot request file: URLs.' }],
  ];
  const functions = rows.map(([, body], n) => `Parse.Cloud.define('f${n}', async () => { ${body} });`);
  functions.push(`Parse.Cloud.define('hosted', function (request, response) { Parse.Cloud.httpRequest({ url: '${base}/bad', success: function () { response.success(); }, error: function (r) { response.error('status ' + r.status); } }); });`);
  const host = await FakeHost.start(functions.join('\n'));
  try {
    for (const [n, [name, , expected]] of rows.entries()) {
      await suite.test(name, async () => {
        const outcome = await host.run({ kind: 'function', name: `f${n}` });
        if (outcome.t === 'done') assert.deepEqual(outcome.result, expected);
        else assert.deepEqual({ code: outcome.error.code, message: outcome.error.message }, expected);
      });
    }
    await suite.test("hosted Parse's callbacks", async () => {
      assert.equal((await host.run({ kind: 'function', name: 'hosted' })).error.message, 'status 404');
    });
  } finally {
    await host.stop();
    server.close();
  }
});
