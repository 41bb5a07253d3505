// The cloud code of the suites that scripts/attack attacks.

Parse.Cloud.define('hello', () => 'Hello');
Parse.Cloud.define('slow', () => new Promise(resolve => setTimeout(() => resolve('late'), 10_000)));

Parse.Cloud.beforeSave('Wish', request => {
  if (!request.object.get('text')) throw new Parse.Error(Parse.Error.VALIDATION_ERROR, 'A wish has a text.');
});
