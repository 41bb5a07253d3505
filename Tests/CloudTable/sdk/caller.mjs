// Hosted Parse's mode (SATCHEL_CLOUD_AS_CALLER): the code's requests use the caller's session.
import { call, hosted, master, modern, others, post, result, subject } from '../rows.mjs';

const mine = [
  post('/classes/Item_', { ACL: { '<ann>': { read: true, write: true } } }, master),
  post('/classes/Item_', { ACL: {} }, master),
];
const row = (name, code, answer, more = {}) => ({
  name,
  before: mine,
  code,
  ask: call({}, { as: 'ann' }),
  answer: answer?.code ? answer : result(answer),
  ...more,
});

export default subject('as the caller', "hosted Parse's Cloud Code guide, Cloud Functions and Parse.User.current", [
  row('a query', hosted("new Parse.Query('Item_').count().then(response.success);"), 1),
  row('a query of nobody', hosted("new Parse.Query('Item_').count().then(response.success);"), 0, { ask: call() }),
  row(
    'useMasterKey',
    hosted("Parse.Cloud.useMasterKey(); new Parse.Query('Item_').count().then(response.success);"),
    2,
  ),
  row('current', hosted('response.success(Parse.User.current().id);'), '<ann>'),
  row('current of nobody', hosted('response.success(!Parse.User.current());'), true, { ask: call() }),
  row(
    'a write',
    hosted(
      "new Parse.Query('Item_').first().then(function (item) { return item.save({ n: 1 }); })" +
        '.then(function (item) { response.success(item.get("n")); }, response.error);',
    ),
    1,
  ),
  row(
    'a write of another',
    hosted(
      "new Parse.Query('Item_').first({ useMasterKey: true }).then(function (item) { return item.save({ n: 1 }); })" +
        '.then(function () { response.success("saved"); }, response.error);',
    ),
    { code: 101, ...others },
    { ask: call({}, { as: 'ben' }) },
  ),
  row(
    'a function inside',
    `Parse.Cloud.define('g_', ({ user }) => user && user.id);\n${modern("return Parse.Cloud.run('g_');")}`,
    '<ann>',
  ),
  row(
    'become',
    hosted(
      "Parse.User.become(request.params.token).then(function () { return new Parse.Query('Item_').count(); })" +
        '.then(response.success, response.error);',
    ),
    1,
    { ask: call({ token: '<ann.token>' }) },
  ),
  row(
    'another session wins',
    modern("return new Parse.Query('Item_').count({ sessionToken: request.params.token });"),
    0,
    { ask: call({ token: '<ben.token>' }, { as: 'ann' }) },
  ),
  {
    name: 'in a trigger',
    before: [post('/classes/Other_', { ACL: { '<ann>': { read: true } } }, master)],
    code: `Parse.Cloud.beforeSave('Item_', function (request, response) {
        new Parse.Query('Other_').count().then(function (n) { request.object.set('seen', n); response.success(); });
          });`,
    ask: post('/classes/Item_', {}, { as: 'ann' }),
    status: 201,
    answer: { objectId: '<any id>', createdAt: '<any date>', seen: 1 },
  },
]);
