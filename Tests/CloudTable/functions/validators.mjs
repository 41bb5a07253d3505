// Validators of functions and triggers.
import { call, created, error, find, master, others, pointer, post, put, result, stored, subject } from '../rows.mjs';

const invalid = (text) => error(142, `Validation failed. ${text}`);
const refused = (text) => error(142, text);

/** A function that returns its parameters, with this validator. */
const row = (name, validator, params, answer, more = {}) => ({
  name,
  code: `Parse.Cloud.define('f_', (request) => request.params, ${validator});`,
  ask: call(params, more.ask),
  answer,
  ...more.row,
});

const account = post(
  '/users',
  { username: 'dora_', password: 'a-password-1' },
  { keep: { dora: 'objectId', token: 'sessionToken' } },
);
const dora = { ask: { as: '<token>' }, row: { before: [account] } };
/** Dora, after a change of her account with the master key. */
const doraWith = (change) => ({
  ask: { as: '<token>' },
  row: { before: [account, put('/users/<dora>', change, master)] },
});

/** Dora in roles: each of these names, and its parent roles. */
const inRoles = (...names) => ({
  ask: { as: '<token>' },
  row: {
    before: [
      account,
      ...names.map((name) =>
        post(
          '/roles',
          {
            name,
            ACL: {},
            users: { __op: 'AddRelation', objects: [pointer('_User', '<dora>')] },
          },
          { ...master, keep: { [name]: 'objectId' } },
        ),
      ),
    ],
  },
});

const saved = (name, validator, object, answer, more = {}) => ({
  name,
  code: `Parse.Cloud.beforeSave('Item_', () => {}, ${validator});`,
  ask: post('/classes/Item_', object, more.ask),
  answer,
  ...more.row,
});
const made = { row: { status: 201 } };

export default [
  ...subject('validators, who calls', 'Cloud Code guide, Implementing cloud function validation', [
    row('requireUser without one', '{ requireUser: true }', {}, invalid('Please login to continue.')),
    row('requireUser with one', '{ requireUser: true }', { a: 1 }, result({ a: 1 }), { ask: { as: 'ann' } }),
    row('requireUser, the master key', '{ requireUser: true }', { a: 1 }, result({ a: 1 }), { ask: master }),
    row(
      'requireUser, the master key, validateMasterKey',
      '{ requireUser: true, validateMasterKey: true }',
      {},
      invalid('Please login to continue.'),
      { ask: master },
    ),
    row(
      'requireMaster, a user',
      '{ requireMaster: true }',
      {},
      invalid('Master key is required to complete this request.'),
      { ask: { as: 'ann' } },
    ),
    row('requireMaster, the master key', '{ requireMaster: true }', {}, result({}), { ask: master }),
    row('requireAnyUserRoles, nobody', "{ requireAnyUserRoles: ['staff_'] }", {}, invalid('Please login to continue.')),
    row(
      'requireAnyUserRoles, without the role',
      "{ requireAnyUserRoles: ['staff_'] }",
      {},
      invalid('User does not match the required roles.'),
      dora,
    ),
    row(
      'requireAnyUserRoles, with one of two',
      "{ requireAnyUserRoles: ['staff_', 'boss_'] }",
      {},
      result({}),
      inRoles('boss_'),
    ),
    row(
      'requireAnyUserRoles, by a function',
      "{ requireAnyUserRoles: () => ['staff_'] }",
      {},
      result({}),
      inRoles('staff_'),
    ),
    {
      ...row('requireAnyUserRoles, by a role in a role', "{ requireAnyUserRoles: ['shop_'] }", {}, result({}), {
        ask: { as: '<token>' },
      }),
      before: [
        ...inRoles('staff_').row.before,
        post(
          '/roles',
          { name: 'shop_', ACL: {}, roles: { __op: 'AddRelation', objects: [pointer('_Role', '<staff_>')] } },
          master,
        ),
      ],
    },
    row(
      'requireAllUserRoles, with one of two',
      "{ requireAllUserRoles: ['staff_', 'boss_'] }",
      {},
      invalid('User does not match all the required roles.'),
      inRoles('staff_'),
    ),
    row(
      'requireAllUserRoles, with both',
      "{ requireAllUserRoles: ['staff_', 'boss_'] }",
      {},
      result({}),
      inRoles('staff_', 'boss_'),
    ),
    row('requireUserKeys, nobody', "{ requireUserKeys: ['level'] }", {}, refused('Please login to make this request.')),
    row(
      'requireUserKeys, not set',
      "{ requireUserKeys: ['level'] }",
      {},
      invalid('Please set data for level on your account.'),
      dora,
    ),
    row(
      'requireUserKeys, one is required',
      '{ requireUserKeys: { level: { required: true } } }',
      {},
      invalid('Please set data for level on your account.'),
      dora,
    ),
    row(
      'requireUserKeys, of another type',
      '{ requireUserKeys: { level: { type: Number } } }',
      {},
      invalid('Invalid type for level. Expected: number'),
      doraWith({ level: 'reader' }),
    ),
    row('requireUserKeys, set', "{ requireUserKeys: ['level'] }", {}, result({}), doraWith({ level: 'reviewer' })),
    row(
      'requireUserKeys, an option',
      "{ requireUserKeys: { level: { options: 'reviewer', error: 'Only reviewers.' } } }",
      {},
      refused('Only reviewers.'),
      doraWith({ level: 'reader' }),
    ),
    row(
      'requireUserKeys, an option that fits',
      "{ requireUserKeys: { level: { options: ['reader', 'reviewer'] } } }",
      {},
      result({}),
      doraWith({ level: 'reader' }),
    ),
  ]),
  ...subject('validators, fields', 'Cloud Code guide, More Advanced Validation', [
    row(
      'a list, one is missing',
      "{ fields: ['movie', 'stars'] }",
      { movie: 'm' },
      invalid('Please specify data for stars.'),
    ),
    row('a list, all are there', "{ fields: ['movie'] }", { movie: 'm' }, result({ movie: 'm' })),
    row('required, missing', '{ fields: { a: { required: true } } }', {}, invalid('Please specify data for a.')),
    row('required, null', '{ fields: { a: { required: true } } }', { a: null }, invalid('Please specify data for a.')),
    row('required, zero', '{ fields: { a: { required: true } } }', { a: 0 }, result({ a: 0 })),
    row('a default', '{ fields: { a: { default: 7 } } }', {}, result({ a: 7 })),
    row('a default is for what is missing', '{ fields: { a: { default: 7 } } }', { a: 1 }, result({ a: 1 })),
    row('a type that fits', '{ fields: { a: { type: String } } }', { a: 'x' }, result({ a: 'x' })),
    row(
      'a text for a number',
      '{ fields: { a: { type: Number } } }',
      { a: '1' },
      invalid('Invalid type for a. Expected: number'),
    ),
    row(
      'a number for a text',
      '{ fields: { a: { type: String } } }',
      { a: 1 },
      invalid('Invalid type for a. Expected: string'),
    ),
    row(
      'a text for a boolean',
      '{ fields: { a: { type: Boolean } } }',
      { a: 'true' },
      invalid('Invalid type for a. Expected: boolean'),
    ),
    row(
      'an object for a list',
      '{ fields: { a: { type: Array } } }',
      { a: {} },
      invalid('Invalid type for a. Expected: array'),
    ),
    row('a list', '{ fields: { a: { type: Array } } }', { a: [1] }, result({ a: [1] })),
    row('an object', '{ fields: { a: { type: Object } } }', { a: { b: 1 } }, result({ a: { b: 1 } })),
    row('a type of what is not sent', '{ fields: { a: { type: Number } } }', {}, result({})),
    row('one option', "{ fields: { a: { options: 'x' } } }", { a: 'y' }, invalid('Invalid option for a. Expected: x')),
    row(
      'options',
      "{ fields: { a: { options: ['x', 'y'] } } }",
      { a: 'z' },
      invalid('Invalid option for a. Expected: x, y'),
    ),
    row('an option that fits', "{ fields: { a: { options: ['x', 'y'] } } }", { a: 'y' }, result({ a: 'y' })),
    row(
      'a function of options refuses',
      '{ fields: { a: { options: (value) => value.length < 3 } } }',
      { a: 'xyz' },
      invalid('Invalid value for a.'),
    ),
    row(
      'a function of options passes',
      '{ fields: { a: { options: (value) => value.length < 3 } } }',
      { a: 'xy' },
      result({ a: 'xy' }),
    ),
    row(
      'a promise of options',
      '{ fields: { a: { options: async (value) => value > 5 } } }',
      { a: 1 },
      invalid('Invalid value for a.'),
    ),
    row(
      'a function of options that throws',
      "{ fields: { a: { options: () => { throw 'too odd'; } } } }",
      { a: 1 },
      refused('too odd'),
    ),
    row(
      'an error of its own',
      "{ fields: { a: { options: (a) => a < 3, error: 'Less than three.' } } }",
      { a: 3 },
      refused('Less than three.'),
    ),
    row('the master key passes', '{ fields: { a: { required: true } } }', {}, result({}), { ask: master }),
    row(
      'the master key with validateMasterKey',
      '{ fields: { a: { required: true } }, validateMasterKey: true }',
      {},
      invalid('Please specify data for a.'),
      { ask: master },
    ),
  ]),
  ...subject('validators, functions', 'Cloud Code guide, More Advanced Validation', [
    row('a function that throws', "() => { throw 'Unauthorized'; }", {}, refused('Unauthorized')),
    row('one that throws an Error', "() => { throw new Error('Unauthorized'); }", {}, refused('Unauthorized')),
    row(
      'one that throws a Parse.Error',
      "() => { throw new Parse.Error(119, 'Unauthorized'); }",
      {},
      error(119, 'Unauthorized'),
    ),
    row('one that rejects', "async () => { throw 'Unauthorized'; }", {}, refused('Unauthorized')),
    row('one that returns', '(request) => { request.params.checked = true; }', {}, result({ checked: true })),
    row('one that returns false', '() => false', {}, refused('<any text>'), {
      row: { source: 'Parse Server 2: a validator returns whether the call is valid' },
    }),
    row('one that returns true', '() => true', {}, result({}), { row: { source: 'Parse Server 2' } }),
    row('it is asked for the master key too', "() => { throw 'Nobody.'; }", {}, refused('Nobody.'), { ask: master }),
  ]),
  ...subject('validators, rate limits', 'Cloud Code guide, Rate limiting', [
    row(
      'a second call',
      "{ rateLimit: { requestTimeWindow: 60000, requestCount: 1, errorResponseMessage: 'Slow down.' } }",
      {},
      error(100, 'Slow down.'),
      { row: { before: [call()], status: 429, after: [{ ...call({}, master), answer: result({}) }] } },
    ),
    row(
      'a second call of the same user',
      "{ rateLimit: { requestTimeWindow: 60000, requestCount: 1, zone: 'user' } }",
      {},
      result({}),
      {
        ask: { as: 'ben' },
        row: {
          before: [call({}, { as: 'ann' })],
          after: [{ ...call({}, { as: 'ann' }), status: 429, answer: error(100, 'Too many requests.') }],
        },
      },
    ),
    {
      name: 'creates, and not updates',
      code: `Parse.Cloud.beforeSave('Item_', () => {}, {
          rateLimit: { requestTimeWindow: 60000, requestCount: 1, requestMethods: 'POST' } });`,
      before: [post('/classes/Item_', {}, { keep: { id: 'objectId' } })],
      ask: post('/classes/Item_', {}),
      status: 429,
      answer: error(100, 'Too many requests.'),
      after: [{ ...put('/classes/Item_/<id>', { n: 1 }), answer: { updatedAt: '<any date>' } }],
    },
  ]),
  ...subject('validators of triggers', 'Cloud Code guide, Save Triggers', [
    saved('requireUser', '{ requireUser: true }', { a: 1 }, invalid('Please login to continue.')),
    saved('requireUser, with one', '{ requireUser: true }', { a: 1 }, created, { ask: { as: 'ann' }, ...made }),
    saved('requireMaster', '{ requireMaster: true }', {}, invalid('Master key is required to complete this request.')),
    saved(
      'a required field',
      '{ fields: { stars: { required: true } } }',
      {},
      invalid('Please specify data for stars.'),
    ),
    saved(
      'a range',
      "{ fields: { stars: { required: true, options: (n) => n >= 1 && n <= 5, error: 'One to five.' } } }",
      { stars: 6 },
      refused('One to five.'),
    ),
    saved(
      'a default is stored',
      "{ fields: { kind: { default: 'plain' } } }",
      { a: 1 },
      { ...created, kind: 'plain' },
      {
        row: { status: 201, after: [{ ...find('Item_'), answer: { results: [{ ...stored, a: 1, kind: 'plain' }] } }] },
      },
    ),
    saved('a type', '{ fields: { n: { type: Number } } }', { n: 'x' }, invalid('Invalid type for n. Expected: number')),
    {
      name: 'a constant stays',
      code: "Parse.Cloud.beforeSave('Item_', () => {}, { fields: { kind: { constant: true } } });",
      before: [post('/classes/Item_', { kind: 'first' }, { keep: { id: 'objectId' } })],
      ask: put('/classes/Item_/<id>', { kind: 'other', a: 1 }),
      answer: { updatedAt: '<any date>', ...others },
      after: [{ ...find('Item_'), answer: { results: [{ ...stored, kind: 'first', a: 1 }] } }],
    },
    {
      name: 'a constant has its default from the start',
      code: `Parse.Cloud.beforeSave('Item_', () => {}, { fields: { kind: { constant: true, default: 'viewer' } } });`,
      ask: post('/classes/Item_', { kind: 'admin' }),
      status: 201,
      answer: { ...created, ...others },
      after: [{ ...find('Item_'), answer: { results: [{ ...stored, kind: 'viewer' }] } }],
    },
    {
      name: 'a function',
      code: "Parse.Cloud.beforeSave('Item_', () => {}, ({ object }) => { if (!object.get('a')) throw 'No a.'; });",
      ask: post('/classes/Item_', {}),
      answer: refused('No a.'),
      after: [{ ...find('Item_'), answer: { results: [] } }],
    },
    {
      name: 'skipWithMasterKey: the handler is not called',
      source: 'Parse Server 4.4 release notes',
      code: "Parse.Cloud.beforeSave('Item_', () => { throw 'never'; }, { skipWithMasterKey: true });",
      ask: post('/classes/Item_', {}, master),
      status: 201,
      answer: created,
      after: [{ ...post('/classes/Item_', {}), answer: error(141, 'never'), status: 400 }],
    },
    {
      name: 'of beforeFind',
      code: "Parse.Cloud.beforeFind('Item_', () => {}, { requireUser: true });",
      ask: find('Item_'),
      answer: invalid('Please login to continue.'),
    },
    {
      name: 'of beforeDelete',
      code: "Parse.Cloud.beforeDelete('Item_', () => {}, { requireMaster: true });",
      before: [post('/classes/Item_', {}, { keep: { id: 'objectId' } })],
      ask: { method: 'DELETE', path: '/classes/Item_/<id>' },
      answer: invalid('Master key is required to complete this request.'),
      after: [{ ...find('Item_'), answer: { results: [stored] } }],
    },
  ]),
];
