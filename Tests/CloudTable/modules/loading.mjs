// Code that cannot be loaded: a deployment refuses it with these texts, and the active code continues.
import { subject } from '../rows.mjs';

const row = (name, main, says) => ({ name, files: { 'main.js': main }, says });

export default [
  ...subject('not deployed', 'docs/guides/cloud-code.md, Running it', [
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
    'docs/guides/cloud-code.md, Running it; Parse Server: triggers of classes that may not have them',
    [
      row('a function without a name', "Parse.Cloud.define('', () => 1);", 'needs a name'),
      row('a function that is none', "Parse.Cloud.define('f', 5);", 'needs a function'),
      row('a validator that is none', "Parse.Cloud.define('f', () => 1, 'yes');", 'validator'),
      row(
        'a misspelt rule',
        "Parse.Cloud.define('price', () => 1, { requiredUser: true });",
        'The validator of the cloud function price has the unknown rule requiredUser',
      ),
      row(
        'a rule of a trigger that does not exist',
        "Parse.Cloud.beforeSave('Item', () => {}, { requireMasterKey: true });",
        'unknown rule requireMasterKey',
      ),
      row(
        'a misspelt rule of a field',
        "Parse.Cloud.define('price', () => 1, { fields: { movie: { require: true } } });",
        'unknown rule fields.movie.require',
      ),
      row(
        'a rule without a value',
        "Parse.Cloud.define('price', () => 1, { requireUser: process.env.NO_SUCH_NAME });",
        'requireUser must be true or false',
      ),
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
