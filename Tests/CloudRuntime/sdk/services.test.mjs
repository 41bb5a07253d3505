// Users, files, Config, pushes, schemas and analytics.
import { call, hosted, modern, snippets } from '../snippets.mjs';

const failed = (code, message) => ({ error: { code, message } });
const UUID = /^[-0-9a-f]{36}$/;
const ann = { objectId: 'u1', username: 'ann', sessionToken: 'r:ann' };

snippets('users', [
  {
    name: 'logIn',
    code: modern(`
      const u = await Parse.User.logIn('ann', 'p'); return [u.id, u.getSessionToken(), u.authenticated(),
      u instanceof Parse.User];
    `),
    run: call(),
    answers: { 'POST /login': ann },
    expectedAsks: [{ method: 'POST', path: '/login', body: { username: 'ann', password: 'p' } }],
    expected: { result: ['u1', 'r:ann', true, true] },
  },
  {
    name: 'logIn with a wrong password',
    code: modern("return Parse.User.logIn('ann', 'x');"),
    run: call(),
    answers: { 'POST /login': { status: 404, body: { code: 101, error: 'Invalid username/password.' } } },
    expected: failed(101, 'Invalid username/password.'),
  },
  {
    name: 'logIn without texts',
    code: modern('return Parse.User.logIn(5);'),
    run: call(),
    expectedAsks: [],
    expected: failed(-1, 'Username must be a string.'),
  },
  {
    name: 'signUp',
    code: modern("const u = await Parse.User.signUp('ann', 'p', { phone: '1' }); return [u.id, u.get('phone')];"),
    run: call(),
    answers: { 'POST /users': { status: 201, body: { objectId: 'u1', sessionToken: 'r:ann' } } },
    expectedAsks: [{ path: '/users', body: { phone: '1', username: 'ann', password: 'p' } }],
    expected: { result: ['u1', '1'] },
  },
  {
    name: 'signUp without a name',
    code: modern("return new Parse.User().signUp();"),
    run: call(),
    expectedAsks: [],
    expected: failed(200, 'Cannot sign up user with an empty username.'),
  },
  {
    name: 'signUp with callbacks',
    code: hosted(`
      var u = new Parse.User(); u.set('username', 'ann'); u.set('password', 'p'); u.signUp(null, {
      success: function (user) { response.success(user.id); }, error: function (user, error) {
      response.error(error.code, error.message); } });
    `),
    run: call(),
    answers: { 'POST /users': { status: 400, body: { code: 202, error: 'taken' } } },
    expected: failed(202, 'taken'),
  },
  {
    name: 'become',
    code: modern("return (await Parse.User.become('r:ann')).getSessionToken();"),
    run: call(),
    answers: { 'GET /users/me': { objectId: 'u1' } },
    expectedAsks: [{ method: 'GET', path: '/users/me', auth: { master: false, sessionToken: 'r:ann' } }],
    expected: { result: 'r:ann' },
  },
  {
    name: 'requestPasswordReset',
    code: modern("await Parse.User.requestPasswordReset('a@b.c');"),
    run: call(),
    answers: { 'POST /requestPasswordReset': {} },
    expectedAsks: [{ body: { email: 'a@b.c' } }],
    expected: { result: undefined },
  },
  {
    name: 'an anonymous user is known as one',
    code: modern('return Parse.AnonymousUtils.isLinked(await Parse.AnonymousUtils.logIn());'),
    run: call(),
    answers: { 'POST /users': { objectId: 'u1', sessionToken: 'r:1' } },
    expected: { result: true },
  },
  {
    name: 'an anonymous user',
    code: modern("return (await Parse.AnonymousUtils.logIn()).id;"),
    run: call(),
    answers: { 'POST /users': (ask) => (UUID.test(ask.body.authData.anonymous.id) ? { objectId: 'u9' } : null) },
    expected: { result: 'u9' },
  },
  {
    name: 'the session of a request',
    code: modern("return (await Parse.Session.current({ sessionToken: request.user.getSessionToken() })).id;"),
    run: call({}, { user: ann }),
    answers: { 'GET /sessions/me': { objectId: 's1' } },
    expectedAsks: [{ auth: { sessionToken: 'r:ann' } }],
    expected: { result: 's1' },
  },
  {
    name: 'loginAs',
    code: modern("return (await Parse.User.loginAs('u1')).id;"),
    run: call(),
    answers: { 'POST /loginAs': ann },
    expectedAsks: [{ body: { userId: 'u1' }, auth: { master: true } }],
    expected: { result: 'u1' },
  },
  {
    name: 'a request without rights',
    code: modern("return new Parse.Query('A').find();"),
    run: call(),
    answers: { 'GET /classes/A': { status: 403, body: { error: 'unauthorized' } } },
    expected: failed(119, 'unauthorized'),
  },
  {
    name: 'an error of the server',
    code: modern("return new Parse.Query('A').find();"),
    run: call(),
    answers: { 'GET /classes/A': { status: 503, body: null } },
    expected: failed(1, 'The server answered with status 503.'),
  },
]);

snippets('files, Config, pushes, schemas and analytics', [
  {
    name: 'a file of bytes',
    code: modern(`
      const f = await new Parse.File('a b.txt', [104, 105], 'text/plain', { m: 1 }).save({ useMasterKey: true });
      return [f.name(), f.url({ forceSecure: true }), f.toJSON()];
    `),
    run: call(),
    answers: { 'POST /files/a%20b.txt': { name: 'n', url: 'http://x/n' } },
    expectedAsks: [{
      method: 'POST',
      path: '/files/a%20b.txt',
      body: { base64: 'aGk=', _ContentType: 'text/plain', fileData: { metadata: { m: 1 }, tags: {} } },
      auth: { master: true },
    }],
    expected: { result: ['n', 'https://x/n', { __type: 'File', name: 'n', url: 'http://x/n' }] },
  },
  {
    name: 'a data URI',
    code: modern("await new Parse.File('a', { base64: 'data:image/png;base64,aGk=' }).save();"),
    run: call(),
    answers: { 'POST /files/a': { name: 'n', url: 'u' } },
    expectedAsks: [{ body: { base64: 'aGk=', _ContentType: 'image/png', fileData: { metadata: {}, tags: {} } } }],
    expected: { result: undefined },
  },
  {
    name: 'a file without content',
    code: modern("return new Parse.File('a').save();"),
    run: call(),
    expectedAsks: [],
    expected: failed(130, /without content/),
  },
  {
    name: 'the content of a file that is not saved',
    code: modern("return new Parse.File('a').getData();"),
    run: call(),
    expected: failed(151, /unsaved/),
  },
  {
    name: 'deleting a file',
    code: modern("await Parse.File.fromJSON({ __type: 'File', name: 'n', url: 'u' }).destroy();"),
    run: call(),
    answers: { 'DELETE /files/n': {} },
    expectedAsks: [{ method: 'DELETE', auth: { master: true } }],
    expected: { result: undefined },
  },
  {
    name: 'Config.get',
    code: modern(`
      const c = await Parse.Config.get({ useMasterKey: true }); return [c.get('a'), c.get('d').getTime(),
      Parse.Config.current().get('a'), c.escape('h')];
    `),
    run: call(),
    answers: { 'GET /config': { params: { a: 1, d: { __type: 'Date', iso: '1970-01-01T00:00:00.005Z' }, h: '<' } } },
    expectedAsks: [{ auth: { master: true } }],
    expected: { result: [1, 5, 1, '&lt;'] },
  },
  {
    name: 'Config.save',
    code: modern("return (await Parse.Config.save({ a: 2 }, { a: true })).get('a');"),
    run: call(),
    answers: { 'PUT /config': { result: true }, 'GET /config': { params: { a: 2 } } },
    expectedAsks: [
      { method: 'PUT', body: { params: { a: 2 }, masterKeyOnly: { a: true } }, auth: { master: true } },
      { method: 'GET' },
    ],
    expected: { result: 2 },
  },
  {
    name: 'Push.send',
    code: modern(`
      return Parse.Push.send({ where: new Parse.Query(Parse.Installation).equalTo('deviceType', 'ios'), data: {
      alert: 'hi' }, push_time: new Date(0) });
    `),
    run: call(),
    answers: { 'POST /push': { status: 200, body: { result: true }, headers: { 'x-parse-push-status-id': 'p1' } } },
    expectedAsks: [{
      method: 'POST',
      path: '/push',
      body: { where: { deviceType: 'ios' }, data: { alert: 'hi' }, push_time: '1970-01-01T00:00:00.000Z' },
      auth: { master: true },
    }],
    expected: { result: 'p1' },
  },
  {
    name: 'Push.send with callbacks',
    code: hosted(`
      Parse.Push.send({ channels: ['a'], data: { alert: 'hi' } }, { success: function () { response.success('sent');
      }, error: function (e) { response.error(e); } });
    `),
    run: call(),
    answers: { 'POST /push': { result: true } },
    expected: { result: 'sent' },
  },
  {
    name: 'Push.send with two expirations',
    code: modern("return Parse.Push.send({ expiration_time: new Date(), expiration_interval: 5 });"),
    run: call(),
    expectedAsks: [],
    expected: failed(141, /cannot both be set/),
  },
  {
    name: 'a schema',
    code: modern(`
      await new Parse.Schema('Game').addString('name', { required: true }).addPointer('owner',
      '_User').deleteField('old').save();
    `),
    run: call(),
    answers: { 'POST /schemas/Game': {} },
    expectedAsks: [{
      body: {
        className: 'Game',
        fields: {
          name: { type: 'String', required: true },
          owner: { type: 'Pointer', targetClass: '_User' },
          old: { __op: 'Delete' },
        },
        indexes: {},
      },
      auth: { master: true },
    }],
    expected: { result: undefined },
  },
  {
    name: 'an event',
    code: modern("await Parse.Analytics.track('search', { city: 'Oslo' });"),
    run: call(),
    answers: { 'POST /events/search': {} },
    expectedAsks: [{ body: { dimensions: { city: 'Oslo' } } }],
    expected: { result: undefined },
  },
]);
