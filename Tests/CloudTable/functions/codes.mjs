// Error codes: thrown by the code, and returned by its failing requests.
import { call, error, hosted, modern, others, post, subject } from '../rows.mjs';

/** Codes of the protocol and of an app, which are passed on unchanged. */
const passed = [
  ['OBJECT_NOT_FOUND', 101],
  ['INVALID_QUERY', 102],
  ['INVALID_CLASS_NAME', 103],
  ['MISSING_OBJECT_ID', 104],
  ['INVALID_KEY_NAME', 105],
  ['INVALID_POINTER', 106],
  ['INVALID_JSON', 107],
  ['COMMAND_UNAVAILABLE', 108],
  ['INCORRECT_TYPE', 111],
  ['OBJECT_TOO_LARGE', 116],
  ['OPERATION_FORBIDDEN', 119],
  ['INVALID_NESTED_KEY', 121],
  ['INVALID_ACL', 123],
  ['TIMEOUT', 124],
  ['INVALID_EMAIL_ADDRESS', 125],
  ['DUPLICATE_VALUE', 137],
  ['INVALID_ROLE_NAME', 139],
  ['EXCEEDED_QUOTA', 140],
  ['SCRIPT_FAILED', 141],
  ['VALIDATION_ERROR', 142],
  ['USERNAME_TAKEN', 202],
  ['EMAIL_TAKEN', 203],
  ['SESSION_MISSING', 206],
  ['INVALID_SESSION_TOKEN', 209],
  ['UNSUPPORTED_SERVICE', 252],
];
const row = (name, body, answer, more = {}) => ({
  name,
  code: modern(body),
  ask: call(more.params || {}, more.ask),
  answer,
  ...more.row,
});

export default [
  ...subject('codes that are thrown', 'protocol 14', [
    ...passed.map(([name, code]) =>
      row(`${name} is ${code}`, `throw new Parse.Error(Parse.Error.${name}, 'said');`, error(code, 'said')),
    ),
    row(
      'REQUEST_LIMIT_EXCEEDED is 155',
      "throw new Parse.Error(Parse.Error.REQUEST_LIMIT_EXCEEDED, 'said');",
      error(155, 'said'),
      { row: { status: 429, source: 'docs/reference/protocol.md, error codes' } },
    ),
    row('of an app', "throw new Parse.Error(9999, 'said');", error(9999, 'said')),
    ...[1, 2, 100].map((code) =>
      row(`${code}, which makes SDKs repeat, is 141`, `throw new Parse.Error(${code}, 'said');`, error(141, 'said'), {
        row: { source: 'docs/guides/cloud-code.md, What happens when' },
      }),
    ),
    {
      name: 'by response.error',
      source: 'Parse Server 2 release notes: response.error(code, message)',
      code: hosted("response.error(Parse.Error.OBJECT_NOT_FOUND, 'gone');"),
      ask: call(),
      answer: error(101, 'gone'),
    },
    row('a code that is a text', "throw new Parse.Error('code', 'said');", error(141, 'said'), {
      row: { source: 'docs/guides/cloud-code.md, Errors' },
    }),
  ]),
  ...subject('codes that requests meet', 'protocol 14', [
    row('a key with a dot in an object', "return new Parse.Object('Item_').save({ box: { 'a.b': 1 } });", {
      code: 121,
      ...others,
    }),
    row('a key with a dollar sign in an object', "return new Parse.Object('Item_').save({ box: { $a: 1 } });", {
      code: 121,
      ...others,
    }),
    row(
      'an account that is linked by nothing known',
      "return Parse.User.logInWith('nothing', { authData: { id: '1' } });",
      { code: 252, ...others },
    ),
    row(
      'an unknown constraint',
      "return new Parse.Query('Item_')._addCondition('n', '$no', 1).find();",
      error(107, 'bad constraint: $no'),
      { row: { source: 'protocol 4, constraints' } },
    ),
    row(
      'a pointer to another class',
      `await new Parse.Object('Item_').save({ of: new Parse.Object('A_') });
      return new Parse.Object('Item_').save({ of: new Parse.Object('B_') });`,
      { code: 111, ...others },
    ),
    row(
      'a result that is nested too deep',
      'let deep = 1; for (let n = 0; n < 300; n += 1) deep = [deep]; return deep;',
      { code: 141, ...others },
      { row: { source: 'docs/guides/cloud-code.md, What happens when' } },
    ),
    row(
      'a request that is nested too deep',
      "let deep = 1; for (let n = 0; n < 300; n += 1) deep = [deep]; return new Parse.Object('Item_').save({ deep });",
      { code: 107, ...others },
      { row: { source: 'docs/guides/cloud-code.md, What happens when' } },
    ),
    row(
      'an event without a name',
      "return Parse.Analytics.track(' ');",
      { code: 141, ...others },
      { row: { source: 'JS SDK, Parse.Analytics.track' } },
    ),
    row('a password reset of no address', "return Parse.User.requestPasswordReset('');", { code: 204, ...others }),
    row('a job that is not there', "return Parse.Cloud.startJob('nothing_');", error(141, 'Invalid job.')),
    row('a write to a class that clients may not write', "return new Parse.Object('_JobStatus').save({ a: 1 });", {
      code: 119,
      ...others,
    }),
  ]),
  ...subject('errors of clients', 'protocol 14', [
    {
      name: 'a session that is over, in a save with a trigger',
      code: "Parse.Cloud.beforeSave('Item_', () => {});",
      ask: post('/classes/Item_', {}, { as: 'r:0123456789abcdef0123456789abcdef' }),
      answer: { code: 209, ...others },
    },
    {
      name: 'a field that is none, after the trigger had its say',
      source: 'docs/guides/webhooks.md, In which order things are decided',
      code: "Parse.Cloud.beforeSave('Item_', () => { throw 'asked'; });",
      ask: post('/classes/Item_', { 'a b': 1 }),
      answer: error(141, 'asked'),
    },
    {
      name: "what a trigger sets is checked as a client's is",
      source: 'docs/guides/webhooks.md, In which order things are decided',
      code: `Parse.Cloud.beforeSave('Item_', ({ object }) => { object.set('n', 'text'); });
        Parse.Cloud.define('f_', () => new Parse.Object('Item_').save());`,
      before: [post('/schemas/Item_', { className: 'Item_', fields: { n: { type: 'Number' } } }, { as: 'master' })],
      ask: call(),
      answer: { code: 111, ...others },
    },
  ]),
];
