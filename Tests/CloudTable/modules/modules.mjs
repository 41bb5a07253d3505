// Further files next to main.js, and the messages for code that is defined twice.
import { call, containing, modern, others, result, subject } from '../rows.mjs';

const row = (name, files, body, answer, more = {}) => ({
  name,
  files,
  code: modern(body),
  ask: call(),
  answer: answer?.code ? answer : result(answer),
  ...more,
});

export default [
  ...subject('modules of the folder', "hosted Parse's Cloud Code guide, Modules", [
    row(
      'cloud/name.js',
      { 'names_.js': "exports.word = 'found';" },
      "return require('cloud/names_.js').word;",
      'found',
    ),
    row('cloud/name', { 'names_.js': "exports.word = 'found';" }, "return require('cloud/names_').word;", 'found'),
    row(
      'cloud/folder/name',
      { 'lib_/names.js': "exports.word = 'found';" },
      "return require('cloud/lib_/names').word;",
      'found',
    ),
    row('JSON', { 'data_.json': '{"word":"found"}' }, "return require('cloud/data_.json').word;", 'found'),
    row(
      'a file by its own place',
      { 'near_.js': "exports.word = 'found';" },
      "return require('./near_').word;",
      'found',
      { source: 'Node.js documentation, Modules' },
    ),
    row(
      'a file that requires another',
      { 'a_.js': "module.exports = require('cloud/b_.js') + 1;", 'b_.js': 'module.exports = 1;' },
      "return require('cloud/a_');",
      2,
    ),
    row(
      'a file uses Parse',
      { 'uses_.js': "module.exports = () => new Parse.Query('Item_').count();" },
      "return require('cloud/uses_')();",
      0,
    ),
    row(
      'node_modules',
      { 'node_modules/word_/index.js': "module.exports = 'found';" },
      "return require('word_');",
      'found',
      { source: 'Node.js documentation, Modules' },
    ),
    row('a file that is not there', {}, "return require('cloud/nothing_.js');", {
      code: 141,
      error: containing('Cannot find module'),
    }),
    {
      name: 'a file defines functions',
      files: {
        'defines_.js': "Parse.Cloud.define('f_', function (request, response) { response.success('there'); });",
      },
      code: "require('cloud/defines_.js');",
      ask: call(),
      answer: result('there'),
    },
    row(
      'underscore is not built in',
      {},
      "return require('underscore');",
      { code: 141, error: containing('npm install underscore') },
      { source: 'docs/guides/cloud-code.md, What differs' },
    ),
  ]),
  ...subject('defined twice', 'Parse Server: a later definition takes the place of an earlier one', [
    {
      name: 'a function',
      code: "Parse.Cloud.define('f_', () => 1);\nParse.Cloud.define('f_', () => 2);",
      ask: call(),
      answer: result(2),
      logs: ['The cloud function f_ is defined more than once; the last one is used.'],
    },
    {
      name: 'a trigger',
      code: `Parse.Cloud.beforeFind('Item_', () => { throw 'first'; });
        Parse.Cloud.beforeFind('Item_', () => { throw 'second'; });`,
      ask: { method: 'GET', path: '/classes/Item_' },
      answer: { code: 141, error: 'second', ...others },
    },
  ]),
];
