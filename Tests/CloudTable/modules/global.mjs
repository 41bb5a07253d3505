// Here main.js is an ES module and calls useMasterKey() at its top.
import { call, master, modern, post, result, subject } from '../rows.mjs';

const secret = [post('/classes/Item_', { ACL: {} }, master)];
const row = (name, body, answer, more = {}) => ({
  name,
  code: modern(body),
  ask: call(),
  answer: result(answer),
  ...more,
});

export default [
  ...subject('useMasterKey at the top of main.js', 'docs/guides/cloud-code.md, Rights', [
    row('holds for every call', "return new Parse.Query('Item_').count();", 1, { before: secret }),
    row('not where a request takes it back', "return new Parse.Query('Item_').count({ useMasterKey: false });", 0, {
      before: secret,
    }),
    row('the request itself has not the master key', 'return request.master;', false),
    {
      name: 'holds for triggers',
      before: secret,
      code: `Parse.Cloud.beforeSave('Other_', async ({ object }) => {
        object.set('n', await new Parse.Query('Item_').count()); });`,
      ask: post('/classes/Other_', {}),
      status: 201,
      answer: { objectId: '<any id>', createdAt: '<any date>', n: 1 },
    },
  ]),
  ...subject('modules of the language', 'docs/guides/cloud-code.md, What differs', [
    row('main.js may be one', 'return typeof require;', 'undefined'),
    row('its own files are found', 'return word;', 'found'),
  ]),
];
