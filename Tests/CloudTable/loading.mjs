// Code that cannot be loaded: a deployment refuses it with these words, and the code that runs goes on.
import { subject } from './rows.mjs';

const row = (name, main, says) => ({ name, files: { 'main.js': main }, says });

export default [
  ...subject('not deployed', 'docs/cloud-code.md, Running it', [
    row('it throws', "throw new Error('not today');", 'not today'),
    row('it throws a text', "throw 'not today';", 'not today'),
    row('an error of syntax', "Parse.Cloud.define('f', (request) => {", 'SyntaxError'),
    row('an unknown name', 'undefinedName.field;', 'undefinedName is not defined'),
    row('a module that is not there', "require('no-such-module');", "Cannot find module 'no-such-module'"),
    row('a promise that fails', "export default await Promise.reject(new Error('later'));", 'later'),
    { name: 'no main.js', files: { 'other.js': '' }, says: 'there is no main.js' },
  ]),
  ...subject(
    'not defined',
    'docs/cloud-code.md, Running it; Parse Server: triggers of classes that may not have them',
    [
      row('a function without a name', "Parse.Cloud.define('', () => 1);", 'needs a name'),
      row('a function that is none', "Parse.Cloud.define('f', 5);", 'needs a function'),
      row('a validator that is none', "Parse.Cloud.define('f', () => 1, 'yes');", 'validator'),
      row('a job that is none', "Parse.Cloud.job('j');", 'needs a function'),
      row('a trigger without a class', 'Parse.Cloud.beforeSave(undefined, () => {});', 'needs a class'),
      row(
        'beforeSave of _Session',
        "Parse.Cloud.beforeSave('_Session', () => {});",
        'Only the afterLogout trigger is allowed for the _Session class.',
      ),
      row(
        'beforeLogin of another class',
        "Parse.Cloud.beforeLogin('Item', () => {});",
        'Only the _User class is allowed for the beforeLogin trigger.',
      ),
      row(
        'afterLogout of another class',
        "Parse.Cloud.afterLogout('_User', () => {});",
        'Only the _Session class is allowed for the afterLogout trigger.',
      ),
      row(
        'beforeSave of _PushStatus',
        "Parse.Cloud.beforeSave('_PushStatus', () => {});",
        'Only afterSave is allowed on _PushStatus',
      ),
    ],
  ),
];
