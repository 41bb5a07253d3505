// Sign-up, sign-in and logout with triggers. All accounts share one beforeLogin, so rows are distinguished by the user
// name.
import { call, created, error, get, master, others, pointer, post, put, result, stored, subject } from '../rows.mjs';

const account = (name, more = {}) =>
  post(
    '/users',
    { username: name, password: 'a-password-1', ...more },
    { keep: { id: 'objectId', token: 'sessionToken' } },
  );
const login = (name, password = 'a-password-1') => post('/login', { username: name, password });
const heard = (fields) => ({
  ...get('/classes/Heard_?order=createdAt', master),
  answer: { results: [{ ...stored, ...fields, ...others }] },
});

const relatedTo = { $relatedTo: { object: pointer('_Role', 'ROLE'), key: 'users' } };
const usersOfRole = encodeURIComponent(JSON.stringify(relatedTo)).replace('ROLE', '<id>');

export default [
  ...subject('_User', 'Cloud Code guide, Save Triggers, Predefined Classes', [
    {
      name: 'beforeSave and afterSave of all accounts, given by the class',
      before: [],
      code: `Parse.Cloud.beforeSave(Parse.User, ({ object }) => {
          if (object.get('firstName') === 'refused') throw new Parse.Error(9001, 'Not you.');
          if (object.get('firstName') === 'greeted') object.set('greeting', 'hello');
        });
        Parse.Cloud.afterSave(Parse.User, ({ object, original }) => {
          if (object.get('firstName') !== 'heard') return;
          return new Parse.Object('Heard_').save({ of: object.id, isNew: !original }, { useMasterKey: true });
        });`,
      ask: account('dora_', { firstName: 'refused' }),
      answer: error(9001, 'Not you.'),
      after: [
        { ...login('dora_'), answer: { code: 101, ...others } },
        {
          ...account('dora_', { firstName: 'greeted' }),
          status: 201,
          answer: { ...created, sessionToken: '<any text>', greeting: 'hello' },
        },
        {
          ...account('emil_', { firstName: 'heard' }),
          status: 201,
          answer: { ...created, sessionToken: '<any text>' },
        },
        heard({ of: '<id>', isNew: true }),
      ],
    },
    {
      name: 'beforeSave hears of a change by its owner',
      before: [account('dora_')],
      ask: put('/users/<id>', { firstName: 'refused' }, { as: '<token>' }),
      answer: error(9001, 'Not you.'),
    },
    {
      name: 'beforeDelete given by the class',
      before: [account('dora_', { lastName: 'kept' })],
      code: `Parse.Cloud.beforeDelete(Parse.User, ({ object }) => {
        if (object.get('lastName') === 'kept') throw 'It is kept.'; });`,
      ask: { method: 'DELETE', path: '/users/<id>', as: '<token>' },
      answer: error(141, 'It is kept.'),
      after: [{ ...get('/users/<id>', { as: '<token>' }), answer: { objectId: '<any id>', ...others } }],
    },
  ]),
  ...subject('beforeLogin', 'Cloud Code guide, beforeLogin', [
    {
      name: 'refuses',
      before: [account('banned_')],
      code: `Parse.Cloud.beforeLogin(async ({ object, user }) => {
          const name = object.get('username');
          if (name.startsWith('banned')) throw new Error('Access denied, you have been banned.');
          if (name.startsWith('coded')) throw new Parse.Error(9007, 'Later.');
          if (name.startsWith('nouser') && user) throw new Error('There is a user.');
        });`,
      ask: login('banned_'),
      answer: error(141, 'Access denied, you have been banned.'),
    },
    { name: 'refuses with a code', before: [account('coded_')], ask: login('coded_'), answer: error(9007, 'Later.') },
    {
      name: 'the user is not on the request',
      before: [account('nouser_')],
      ask: login('nouser_'),
      answer: { objectId: '<any id>', sessionToken: '<any text>', ...others },
    },
    {
      name: 'is not asked at a sign-up',
      ask: account('banned_'),
      status: 201,
      answer: { ...created, sessionToken: '<any text>' },
    },
    {
      name: 'is not asked with a wrong password',
      before: [account('banned_')],
      ask: login('banned_', 'wrong-password'),
      answer: error(101, 'Invalid username/password.'),
    },
  ]),
  ...subject('afterLogin and afterLogout', 'Cloud Code guide, Session Triggers', [
    {
      name: 'afterLogin hears',
      before: [account('comer_')],
      code: `Parse.Cloud.afterLogin(({ object }) => {
          if (!object.get('username').startsWith('comer')) return;
          return new Parse.Object('Heard_').save({ of: object.id }, { useMasterKey: true });
        });`,
      ask: login('comer_'),
      answer: { objectId: '<any id>', sessionToken: '<any text>', ...others },
      after: [heard({ of: '<id>' })],
    },
    {
      name: 'afterLogout has the session',
      before: [account('goer_', { lastName: 'gone' })],
      code: `Parse.Cloud.afterLogout(async ({ object }) => {
          const user = await object.get('user').fetch({ useMasterKey: true });
          if (user.get('lastName') !== 'gone') return;
          await new Parse.Object('Heard_').save({ of: user.id, kind: object.className }, { useMasterKey: true });
        });`,
      ask: post('/logout', {}, { as: '<token>' }),
      answer: {},
      after: [
        heard({ of: '<id>', kind: '_Session' }),
        { ...get('/users/me', { as: '<token>' }), answer: { code: 209, ...others } },
      ],
    },
  ]),
  ...subject('roles', 'JS guide, Roles', [
    {
      name: 'beforeSave of _Role sees who is added',
      source: 'Cloud Code guide, Context',
      code: `Parse.Cloud.beforeSave(Parse.Role, ({ object }) => {
          const added = object.op('users');
          if (object.get('name').startsWith('few') && added && added.relationsToAdd.length > 1) throw 'Too many.';
          if (object.get('name').startsWith('none') && added) object.revert('users');
        });`,
      ask: post(
        '/roles',
        {
          name: 'few_',
          ACL: {},
          users: {
            __op: 'AddRelation',
            objects: [
              { __type: 'Pointer', className: '_User', objectId: '<ann>' },
              { __type: 'Pointer', className: '_User', objectId: '<ben>' },
            ],
          },
        },
        master,
      ),
      answer: error(141, 'Too many.'),
    },
    {
      name: 'beforeSave of _Role takes back who is added',
      source: 'JS guide, Parse.Object.revert',
      ask: post(
        '/roles',
        { name: 'none_', ACL: {}, users: { __op: 'AddRelation', objects: [pointer('_User', '<ann>')] } },
        { ...master, keep: { id: 'objectId' } },
      ),
      status: 201,
      answer: { objectId: '<any id>', ...others },
      after: [
        {
          ...get(`/classes/_User?where=${usersOfRole}`, master),
          answer: { results: [] },
        },
      ],
    },
    {
      name: 'a role made by the code gives its rights',
      before: [account('dora_')],
      code: `Parse.Cloud.define('f_', async ({ user }) => {
          const master = { useMasterKey: true };
          const role = new Parse.Role('staff_', new Parse.ACL());
          role.getUsers().add(user);
          await role.save(null, master);
          const acl = new Parse.ACL();
          acl.setRoleReadAccess('staff_', true);
          await new Parse.Object('Item_').save({ ACL: acl, n: 1 }, master);
          const query = new Parse.Query('Item_');
          return [await query.count(), await query.count({ sessionToken: user.getSessionToken() })];
        });`,
      ask: call({}, { as: '<token>' }),
      answer: result([0, 1]),
    },
  ]),
];
