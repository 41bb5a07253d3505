// Validators of functions and triggers, and jobs.
import { call, snippets, trigger } from '../snippets.mjs';

const failed = (code, message) => ({ error: { code, message } });
const invalid = (message) => failed(142, message);
const ann = { objectId: 'u1', username: 'ann', age: 30, sessionToken: 'r:ann' };
const rules = (validator) => `Parse.Cloud.define('f', (request) => request.params, ${validator});`;
const ok = { result: {} };

snippets('validators of functions', [
  {
    name: 'requireUser without one',
    code: rules('{ requireUser: true }'),
    run: call(),
    expected: invalid('Validation failed. Please login to continue.'),
  },
  { name: 'requireUser with one', code: rules('{ requireUser: true }'), run: call({}, { user: ann }), expected: ok },
  {
    name: 'the master key passes',
    code: rules('{ requireUser: true }'),
    run: call({}, { master: true }),
    expected: ok,
  },
  {
    name: 'validateMasterKey',
    code: rules('{ requireUser: true, validateMasterKey: true }'),
    run: call({}, { master: true }),
    expected: invalid('Validation failed. Please login to continue.'),
  },
  {
    name: 'requireMaster',
    code: rules('{ requireMaster: true }'),
    run: call({}, { user: ann }),
    expected: invalid('Validation failed. Master key is required to complete this request.'),
  },
  {
    name: 'fields by name',
    code: rules("{ fields: ['a', 'b'] }"),
    run: call({ a: 1 }),
    expected: invalid('Validation failed. Please specify data for b.'),
  },
  {
    name: 'required',
    code: rules('{ fields: { a: { required: true } } }'),
    run: call(),
    expected: invalid('Validation failed. Please specify data for a.'),
  },
  { name: 'default', code: rules('{ fields: { a: { default: 7 } } }'), run: call(), expected: { result: { a: 7 } } },
  {
    name: 'type',
    code: rules('{ fields: { a: { type: Number } } }'),
    run: call({ a: '1' }),
    expected: invalid('Validation failed. Invalid type for a. Expected: number'),
  },
  {
    name: 'type Array',
    code: rules('{ fields: { a: { type: Array } } }'),
    run: call({ a: [1] }),
    expected: { result: { a: [1] } },
  },
  {
    name: 'type Date',
    code: rules('{ fields: { a: { type: Date } } }'),
    run: call({ a: { __type: 'Date', iso: '2024-01-01T00:00:00.000Z' } }),
    expected: { result: { a: { __type: 'Date', iso: '2024-01-01T00:00:00.000Z' } } },
  },
  {
    name: 'a missing optional field',
    code: rules('{ fields: { a: { type: Number, options: [1] } } }'),
    run: call(),
    expected: ok,
  },
  {
    name: 'options in a list',
    code: rules("{ fields: { a: { options: ['x', 'y'] } } }"),
    run: call({ a: 'z' }),
    expected: invalid('Validation failed. Invalid option for a. Expected: x, y'),
  },
  {
    name: 'one option, an own error',
    code: rules("{ fields: { a: { options: 'x', error: 'only x' } } }"),
    run: call({ a: 'z' }),
    expected: invalid('only x'),
  },
  {
    name: 'a function of options',
    code: rules('{ fields: { a: { options: (value) => value > 5 } } }'),
    run: call({ a: 5 }),
    expected: invalid('Validation failed. Invalid value for a.'),
  },
  {
    name: 'a function of options that passes',
    code: rules('{ fields: { a: { options: async (value) => value > 5 } } }'),
    run: call({ a: 6 }),
    expected: { result: { a: 6 } },
  },
  {
    name: 'a function of options that throws',
    code: rules("{ fields: { a: { options: () => { throw 'odd'; } } } }"),
    run: call({ a: 6 }),
    expected: invalid('odd'),
  },
  {
    name: 'requireUserKeys',
    code: rules("{ requireUserKeys: ['email'] }"),
    run: call({}, { user: ann }),
    expected: invalid('Validation failed. Please set data for email on your account.'),
  },
  {
    name: 'requireUserKeys without a user',
    code: rules("{ requireUserKeys: ['email'] }"),
    run: call(),
    expected: invalid('Please login to make this request.'),
  },
  {
    name: 'requireUserKeys with options',
    code: rules("{ requireUserKeys: { age: { options: (age) => age >= 40, error: 'too young' } } }"),
    run: call({}, { user: ann }),
    expected: invalid('too young'),
  },
  {
    name: 'a role that the user has',
    code: rules("{ requireAnyUserRoles: ['admins'] }"),
    run: call({}, { user: ann }),
    answers: { 'GET /classes/_Role': [{ results: [{ objectId: 'r1', name: 'admins' }] }, { results: [] }] },
    expectedAsks: [
      { auth: { master: true } },
      {
        query: {
          where: { roles: { $in: [{ __type: 'Pointer', className: '_Role', objectId: 'r1' }] } },
          limit: 100,
          order: 'objectId',
        },
      },
    ],
    expected: ok,
  },
  {
    name: 'a role that another role gives',
    code: rules("{ requireAnyUserRoles: ['staff'] }"),
    run: call({}, { user: ann }),
    answers: {
      'GET /classes/_Role': [
        { results: [{ objectId: 'r1', name: 'admins' }] },
        { results: [{ objectId: 'r2', name: 'staff' }] },
        { results: [] },
      ],
    },
    expected: ok,
  },
  {
    name: 'a role that the user lacks',
    code: rules("{ requireAnyUserRoles: () => ['admins'] }"),
    run: call({}, { user: ann }),
    answers: { 'GET /classes/_Role': { results: [] } },
    expected: invalid('Validation failed. User does not match the required roles.'),
  },
  {
    name: 'all of several roles',
    code: rules("{ requireAllUserRoles: ['a', 'b'] }"),
    run: call({}, { user: ann }),
    answers: { 'GET /classes/_Role': [{ results: [{ objectId: 'r1', name: 'a' }] }, { results: [] }] },
    expected: invalid('Validation failed. User does not match all the required roles.'),
  },
  {
    name: 'roles without a user',
    code: rules("{ requireAnyUserRoles: ['a'] }"),
    run: call(),
    expected: invalid('Validation failed. Please login to continue.'),
  },
  {
    name: 'a function that throws',
    code: rules("() => { throw 'not today'; }"),
    run: call(),
    expected: invalid('not today'),
  },
  {
    name: 'a function that throws a Parse.Error',
    code: rules("() => { throw new Parse.Error(119, 'no'); }"),
    run: call(),
    expected: failed(119, 'no'),
  },
  {
    name: 'a function that says false',
    code: rules('() => false'),
    run: call(),
    expected: invalid('Validation failed.'),
  },
  { name: 'a function that returns nothing', code: rules('async () => {}'), run: call(), expected: ok },
]);

const stored = { objectId: 'i1', price: 5, name: 'old' };
const onSave = (validator) => `Parse.Cloud.beforeSave('Item', (request) => {
  request.object.set('ran', true);
}, ${validator});`;
const saved = (object) => ({ result: { object, context: {} } });
snippets('validators of triggers', [
  {
    name: 'required fields of the object',
    code: onSave("{ fields: ['name'] }"),
    run: trigger('beforeSave', { object: {} }),
    expected: invalid('Validation failed. Please specify data for name.'),
  },
  {
    name: 'a default is saved',
    code: onSave('{ fields: { price: { default: 9 } } }'),
    run: trigger('beforeSave', { object: {} }),
    expected: saved({ price: 9, ran: true }),
  },
  {
    name: 'a constant cannot be changed',
    code: onSave('{ fields: { price: { constant: true } } }'),
    run: trigger('beforeSave', { object: { price: 1 }, original: stored }),
    expected: saved({ objectId: 'i1', ran: true }),
  },
  {
    name: 'a constant begins with its default',
    code: onSave('{ fields: { price: { constant: true, default: 3 } } }'),
    run: trigger('beforeSave', { object: { price: 1 } }),
    expected: saved({ price: 3, ran: true }),
  },
  {
    name: 'skipWithMasterKey',
    code: onSave('{ skipWithMasterKey: true }'),
    run: trigger('beforeSave', { object: { a: 1 }, request: { master: true } }),
    expected: saved({ a: 1 }),
  },
  {
    name: 'a sign-up is its own user',
    code: "Parse.Cloud.beforeSave('_User', () => {}, { requireUser: true });",
    run: { kind: 'trigger', trigger: 'beforeSave', className: '_User', object: { username: 'x' } },
    expected: saved({ username: 'x' }),
  },
  {
    name: 'a query',
    code: "Parse.Cloud.beforeFind('Item', () => {}, { requireUser: true });",
    run: trigger('beforeFind', { query: {} }),
    expected: invalid('Validation failed. Please login to continue.'),
  },
]);

const job = (params) => ({ kind: 'job', name: 'j', params, jobId: 'job1', request: { master: true } });
snippets('jobs', [
  {
    name: 'what it returns is its message',
    code: "Parse.Cloud.job('j', async (request) => 'done ' + request.params.n + ' ' + request.jobId);",
    run: job({ n: 1 }),
    expected: { result: 'done 1 job1' },
  },
  { name: 'nothing returned', code: "Parse.Cloud.job('j', () => {});", run: job(), expected: { result: null } },
  {
    name: 'an exception',
    code: "Parse.Cloud.job('j', () => { throw new Error('broken'); });",
    run: job(),
    expected: failed(141, 'broken'),
  },
  {
    name: "hosted Parse's success",
    code: "Parse.Cloud.job('j', function (request, status) { status.message('half'); status.success('all'); });",
    run: job(),
    expected: { result: 'all' },
  },
  {
    name: "hosted Parse's error",
    code: "Parse.Cloud.job('j', function (request, status) { status.error('broken'); });",
    run: job(),
    expected: failed(141, 'broken'),
  },
  {
    name: "hosted Parse's each",
    code: `
      Parse.Cloud.job('j', function (request, status) { Parse.Cloud.useMasterKey(); var n = 0;
      new Parse.Query('Item').each(function (item) { if (n % 2 === 0) { status.message(n + ' done'); } n += 1;
      item.set('x', n); return item.save(); })
      .then(function () { status.success('ok ' + n); }, function () { status.error('no'); }); });
    `,
    run: job(),
    answers: {
      'GET /classes/Item': { results: [{ objectId: 'a' }, { objectId: 'b' }] },
      'PUT /classes/Item/a': {},
      'PUT /classes/Item/b': {},
    },
    expectedAsks: [
      { query: { where: {}, limit: 100, order: 'objectId' }, auth: { master: true } },
      { auth: { master: true } },
      { body: { x: 2 } },
    ],
    expected: { result: 'ok 2' },
  },
  { name: 'an unknown job', code: '', run: job(), expected: failed(141, 'Invalid job.') },
]);
