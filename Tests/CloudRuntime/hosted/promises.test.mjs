// Hosted Parse's promises, and Parse._.
import { call, hosted, modern, snippets } from '../snippets.mjs';

const failed = (code, message) => ({ error: { code, message } });

snippets("hosted Parse's promises", [
  {
    name: 'as and then',
    code: hosted("Parse.Promise.as(1, 2).then(function (a, b) { response.success(a + b); });"),
    run: call(),
    expected: { result: 3 },
  },
  {
    name: 'when of arguments',
    code: hosted("Parse.Promise.when(Parse.Promise.as(1), 2).then(function (a, b) { response.success([a, b]); });"),
    run: call(),
    expected: { result: [1, 2] },
  },
  {
    name: 'when of an array, by arguments',
    code: hosted(`
      Parse.Promise.when([Parse.Promise.as(1), 2]).then(function () { response.success(arguments.length); });
    `),
    run: call(),
    expected: { result: 2 },
  },
  {
    name: 'when of an array, as an array',
    code: hosted("Parse.Promise.when([Parse.Promise.as(1), 2]).then(function (all) { response.success(all); });"),
    run: call(),
    expected: { result: [1, 2] },
  },
  {
    name: 'when of nothing',
    code: hosted("Parse.Promise.when([]).then(function () { response.success('none'); });"),
    run: call(),
    expected: { result: 'none' },
  },
  {
    name: 'when that fails',
    code: hosted(`
      Parse.Promise.when(Parse.Promise.error('a'), Parse.Promise.as(1)).then(null, function (errors) {
      response.success(errors[0]); });
    `),
    run: call(),
    expected: { result: 'a' },
  },
  {
    name: 'a promise that is resolved later',
    code: hosted(`
      var p = new Parse.Promise(); setTimeout(function () { p.resolve('x'); }, 2); p.then(response.success);
    `),
    run: call(),
    expected: { result: 'x' },
  },
  {
    name: 'a promise that is rejected later',
    code: hosted(`
      var p = new Parse.Promise(); setTimeout(function () { p.reject('x'); }, 2); p.fail(response.error);
    `),
    run: call(),
    expected: failed(141, 'x'),
  },
  {
    name: 'done, fail, always',
    code: hosted(`
      Parse.Promise.error('e').done(function () { response.success('wrong'); }).fail(function (e) { return e + '!';
      }).always(function (x) { response.success(x); });
    `),
    run: call(),
    expected: { result: 'e!' },
  },
  {
    name: 'a chain of saves one after the other',
    code: hosted(`
      var p = Parse.Promise.as(); Parse._.each(['a', 'b'], function (id) { p = p.then(function () {
      return Parse.Object.fromJSON({ className: 'Game', objectId: id }).destroy(); }); }); p.then(function () {
      response.success('ok'); });
    `),
    run: call(),
    answers: { 'DELETE /classes/Game/a': {}, 'DELETE /classes/Game/b': {} },
    expectedAsks: [{ path: '/classes/Game/a' }, { path: '/classes/Game/b' }],
    expected: { result: 'ok' },
  },
  {
    name: 'await of many',
    code: modern(`
      return [await Parse.Promise.when([1, 2]), await Parse.Promise.as(3), Parse.Promise.is(Parse.Promise.as())];
    `),
    run: call(),
    expected: { result: [[1, 2], 3, true] },
  },
  {
    name: 'all of the language',
    code: modern('return Parse.Promise.all([1, Parse.Promise.as(2)]);'),
    run: call(),
    expected: { result: [1, 2] },
  },
]);

const underscore = (expression, expected) => ({
  name: expression,
  code: modern(`const _ = Parse._; return (${expression});`),
  run: call(),
  expected: { result: expected },
});
snippets('Parse._', [
  underscore(
    `
      [_.map([1, 2], (x) => x * 2), _.filter([1, 2], (x) => x > 1), _.reduce([1, 2], (a, b) => a + b, 0), _.find([1,
      2], (x) => x > 1), _.pluck([{ a: 1 }], 'a')]
    `,
    [[2, 4], [2], 3, 2, [1]],
  ),
  underscore(
    `
      [_.uniq([1, 1, 2]), _.contains([1], 1), _.keys({ a: 1 }), _.values({ a: 1 }), _.extend({ a: 1 }, { b: 2 }),
      _.isEmpty({}), _.isEmpty([1]), _.isString('x')]
    `,
    [[1, 2], true, ['a'], [1], { a: 1, b: 2 }, true, false, true],
  ),
  underscore(
    `
      [_.groupBy([1, 2, 3], (x) => x % 2), _.sortBy([3, 1, 2]), _.max([1, 5, 2]), _.first([1, 2]), _.last([1, 2]),
      _.flatten([1, [2, [3]]]), _.without([1, 2], 1), _.pick({ a: 1, b: 2 }, 'a'), _.omit({ a: 1, b: 2 }, 'a')]
    `,
    [{ 0: [2], 1: [1, 3] }, [1, 2, 3], 5, 1, 2, [1, 2, 3], [2], { a: 1 }, { b: 2 }],
  ),
  underscore(
    `
      [_.chain([3, 1]).sortBy().map((x) => x + 1).value(), _.zip([1, 2], ['a', 'b']), _.object(['a'], [1]),
      _.range(2, 5), _.where([{ a: 1 }, { a: 2 }], { a: 2 }), _.isFunction(_.each), _.escape('<')]
    `,
    [[2, 4], [[1, 'a'], [2, 'b']], { a: 1 }, [2, 3, 4], [{ a: 2 }], true, '&lt;'],
  ),
  underscore(
    "(() => { const seen = []; _.each({ a: 1, b: 2 }, (value, key) => seen.push(key + value)); return seen; })()",
    ['a1', 'b2'],
  ),
]);
