// Users and sessions in cloud code.
import { call, error, modern, others, post, result, subject } from '../rows.mjs';

const account = post(
  '/users',
  { username: 'dora_', password: 'a-password-1', email: 'dora_@customers.example' },
  { keep: { dora: 'objectId', token: 'sessionToken' } },
);
const row = (name, body, answer, more = {}) => ({
  name,
  before: [account],
  ask: call(more.params || {}, more.ask),
  answer: answer?.code ? answer : result(answer),
  code: modern(body),
  ...more.row,
});

export default [
  ...subject('Parse.User', 'JS guide, Users', [
    row(
      'signUp',
      `const user = new Parse.User();
      user.set({ username: 'emil_', password: 'a-password-1' });
      await user.signUp();
      return [user.id.length, typeof user.getSessionToken(), user.get('password') === undefined];`,
      [10, 'string', true],
    ),
    row('a name that is taken', "return Parse.User.signUp('dora_', 'a-password-1');", error(202, '<any text>')),
    row(
      'an address that is taken',
      "return Parse.User.signUp('emil_', 'a-password-1', { email: 'dora_@customers.example' });",
      error(203, '<any text>'),
    ),
    row(
      'no name',
      "return Parse.User.signUp('', 'a-password-1');",
      { code: 200, ...others },
      { row: { source: 'protocol 14' } },
    ),
    row(
      'no password',
      "return Parse.User.signUp('emil_', '');",
      { code: 201, ...others },
      { row: { source: 'protocol 14' } },
    ),
    row(
      'an address that is none',
      "return Parse.User.signUp('emil_', 'a-password-1', { email: 'nothing' });",
      { code: 125, ...others },
      { row: { source: 'protocol 14' } },
    ),
    row(
      'logIn',
      `const user = await Parse.User.logIn('dora_', 'a-password-1');
        return [user.id, user.getSessionToken().startsWith('r:')];`,
      ['<dora>', true],
    ),
    row(
      'a wrong password',
      "return Parse.User.logIn('dora_', 'wrong-password');",
      error(101, 'Invalid username/password.'),
    ),
    row('become', "return (await Parse.User.become(request.params.token)).get('username');", 'dora_', {
      params: { token: '<token>' },
    }),
    row('become with a session that is none', "return Parse.User.become('r:0123456789abcdef0123456789abcdef');", {
      code: 209,
      ...others,
    }),
    row('me', 'return (await Parse.User.me(request.params.token)).id;', '<dora>', {
      params: { token: '<token>' },
      row: { source: 'JS SDK, Parse.User.me' },
    }),
    row('current is nobody', 'return Parse.User.current() === undefined || Parse.User.current() === null;', true, {
      ask: { as: '<token>' },
      row: { source: 'Parse Server 2 migration guide: no current user in cloud code' },
    }),
    row(
      "a change with the user's session",
      `await request.user.save({ phone: '1' }, { sessionToken: request.user.getSessionToken() });
      return request.user.get('phone');`,
      '1',
      { ask: { as: '<token>' } },
    ),
    row(
      'a change without rights',
      "request.user.set('phone', '1'); return request.user.save();",
      { code: 206, ...others },
      { ask: { as: '<token>' }, row: { source: 'protocol 14' } },
    ),
    row(
      'a change with the master key',
      `const user = new Parse.User();
      user.id = request.params.id;
      await user.save({ phone: '2' }, { useMasterKey: true });
      return (await new Parse.Query(Parse.User).get(user.id, { useMasterKey: true })).get('phone');`,
      '2',
      { params: { id: '<dora>' } },
    ),
    row(
      'a password is never read',
      `const user = await new Parse.Query(Parse.User).get(request.params.id, { useMasterKey: true });
      return Object.keys(user.attributes).filter((key) => /password/i.test(key));`,
      [],
      { params: { id: '<dora>' } },
    ),
    row(
      'an e-mail address is not for others',
      `const user = await new Parse.Query(Parse.User).equalTo('username', 'dora_').first();
      return user === undefined || user.get('email') === undefined;`,
      true,
      { row: { source: 'JS guide, Security for User Objects' } },
    ),
    row(
      'logOut',
      `await Parse.User.logOut({ sessionToken: request.params.token });
      return Parse.User.become(request.params.token).then(() => 'still', (error) => error.code);`,
      209,
      { params: { token: '<token>' } },
    ),
    row(
      'requestPasswordReset',
      "await Parse.User.requestPasswordReset('dora_@customers.example'); return 'asked';",
      'asked',
    ),
    row('verifyPassword', "return (await Parse.User.verifyPassword('dora_', 'a-password-1')).id;", '<dora>', {
      row: { source: 'JS SDK, Parse.User.verifyPassword' },
    }),
    row(
      'an anonymous user',
      'const user = await Parse.AnonymousUtils.logIn(); return Parse.AnonymousUtils.isLinked(user);',
      true,
      { row: { source: 'JS guide, Anonymous Users' } },
    ),
    row('loginAs', "return (await Parse.User.loginAs(request.params.id)).getSessionToken().startsWith('r:');", true, {
      params: { id: '<dora>' },
      row: { source: 'JS SDK, Parse.User.loginAs' },
    }),
    row(
      'destroy with the master key',
      `const user = new Parse.User();
      user.id = request.params.id;
      await user.destroy({ useMasterKey: true });
      return new Parse.Query(Parse.User).equalTo('username', 'dora_').count({ useMasterKey: true });`,
      0,
      { params: { id: '<dora>' } },
    ),
    row(
      'a pointer to a user',
      `await new Parse.Object('Item_').save({ owner: request.user });
      const item = await new Parse.Query('Item_').equalTo('owner', request.user).first();
      return item.get('owner').id;`,
      '<dora>',
      { ask: { as: '<token>' } },
    ),
  ]),
  ...subject('Parse.Session', 'JS guide, Sessions', [
    row(
      'current',
      "return (await Parse.Session.current({ sessionToken: request.user.getSessionToken() })).get('user').id;",
      '<dora>',
      { ask: { as: '<token>' } },
    ),
    row(
      'of a user, with the master key',
      "return new Parse.Query(Parse.Session).equalTo('user', request.user).count({ useMasterKey: true });",
      1,
      { ask: { as: '<token>' } },
    ),
    row(
      'ended by the code',
      `const sessions = await new Parse.Query(Parse.Session).equalTo('user', request.user).find({ useMasterKey: true });
      await Parse.Object.destroyAll(sessions, { useMasterKey: true });
      return Parse.User.become(request.params.token).then(() => 'still', (error) => error.code);`,
      209,
      { ask: { as: '<token>' }, params: { token: '<token>' } },
    ),
  ]),
  ...subject('Parse.Role', 'JS guide, Roles', [
    row(
      'a name that is none',
      "return new Parse.Role('a/b', new Parse.ACL()).save(null, { useMasterKey: true });",
      { code: 141, ...others },
      { row: { source: 'JS SDK, Parse.Role: names' } },
    ),
    row(
      'users of a role',
      `const role = new Parse.Role('staff_', new Parse.ACL());
      role.getUsers().add(request.user);
      await role.save(null, { useMasterKey: true });
      const users = await role.getUsers().query().find({ useMasterKey: true });
      return users.map((user) => user.id);`,
      ['<dora>'],
      { ask: { as: '<token>' } },
    ),
    row(
      'a name that is taken',
      `const master = { useMasterKey: true };
      await new Parse.Role('staff_', new Parse.ACL()).save(null, master);
      return new Parse.Role('staff_', new Parse.ACL()).save(null, master);`,
      { code: 137, ...others },
      { row: { source: 'protocol 14' } },
    ),
  ]),
];
