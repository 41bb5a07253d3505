// Hosted Parse's style (2013 to 2017): a second parameter that answers, callbacks, and Parse.Promise.
import {
  call,
  containing,
  created,
  error,
  hosted,
  master,
  modern,
  others,
  pointer,
  post,
  result,
  stored,
  subject,
} from '../rows.mjs';

const row = (name, body, answer, more = {}) => ({ name, code: hosted(body), ask: call(), answer, ...more });
const items = [1, 2, 3].map((n) => post('/classes/Item_', { n }));
const items2 = "new Parse.Query('Item_')";

export default [
  ...subject('response', "hosted Parse's Cloud Code guide, Cloud Functions", [
    row('success with a text', "response.success('Hello world!');", result('Hello world!')),
    row('success with an object', 'response.success({ a: [1, { b: 2 }] });', result({ a: [1, { b: 2 }] })),
    row('success without a value', 'response.success();', result(), {
      source: 'protocol 11',
    }),
    row('success later', "setTimeout(function () { response.success('late'); }, 5);", result('late')),
    row(
      'success from callbacks of a query',
      `new Parse.Query('Item_').find({ success: function (items) { response.success(items.length); },
        error: function () { response.error('lookup failed'); } });`,
      result(3),
      { before: items },
    ),
    row('error with a text', "response.error('movie lookup failed');", error(141, 'movie lookup failed')),
    row('error with a code and a text', "response.error(9005, 'own code');", error(9005, 'own code'), {
      source: 'Parse Server 2 release notes: response.error(code, message)',
    }),
    row('error with a Parse.Error', "response.error(new Parse.Error(202, 'taken'));", error(202, 'taken')),
    row('error with an Error', "response.error(new Error('an error'));", error(141, 'an error')),
    row('error with an object that has a message', "response.error({ message: 'said' });", error(141, 'said')),
    row('error without anything', 'response.error();', error(141, '<any text>')),
    row('the first answer counts', "response.success(1); response.error('no');", result(1)),
    row('an exception', "throw new Error('thrown');", error(141, 'thrown')),
    row(
      'an exception in a callback',
      "new Parse.Query('Item_').find({ success: function (items) { nobody.knows; } });",
      error(141, 'nobody is not defined'),
    ),
    row('who calls', 'response.success([request.user.id, request.master]);', result(['<ann>', false]), {
      ask: call({}, { as: 'ann' }),
    }),
    row('parameters', 'response.success(request.params.movie);', result('The Matrix'), {
      ask: call({ movie: 'The Matrix' }),
    }),
    row(
      'the error of a query',
      `new Parse.Query('Item_').get('nobodyhere', {
        success: function () { response.success('found'); },
        error: function (object, error) { response.error((error || object).code + ' ' + (error || object).message);
          } });`,
      error(141, '101 Object not found.'),
    ),
  ]),
  ...subject('Parse.Promise', 'JS guide of hosted Parse, Promises', [
    row('as', "Parse.Promise.as('value').then(response.success, response.error);", result('value')),
    row('error', "Parse.Promise.error('wrong').then(response.success, response.error);", error(141, 'wrong')),
    row(
      'a chain goes on with what a callback returns',
      `Parse.Promise.as(1).then(function (n) { return n + 1; })
        .then(function (n) { return Parse.Promise.as(n * 10); }).then(response.success);`,
      result(20),
    ),
    row(
      'an error passes callbacks of success',
      "Parse.Promise.error('lost').then(function () { response.success('never'); })" +
        '.then(null, function (why) { response.error(why); });',
      error(141, 'lost'),
    ),
    row(
      'a callback may make a success an error',
      `Parse.Promise.as(1).then(function () { return Parse.Promise.error('later');
        }).then(response.success, response.error);`,
      error(141, 'later'),
    ),
    row(
      'an error that is handled goes on as a success',
      `Parse.Promise.error('lost').then(null, function () { return Parse.Promise.as('found');
        }).then(response.success);`,
      result('found'),
    ),
    row(
      'when of arguments',
      `Parse.Promise.when(Parse.Promise.as(1), Parse.Promise.as(2)).then(function (a, b) {
        response.success([a, b]); });`,
      result([1, 2]),
    ),
    row(
      'when of an array, by arguments',
      `Parse.Promise.when([Parse.Promise.as(1), Parse.Promise.as(2)]).then(function (a, b) {
        response.success([a, b]); });`,
      result([1, 2]),
    ),
    row(
      'when of an array, as an array',
      'Parse.Promise.when([Parse.Promise.as(1), 2]).then(function (all) { response.success(all); });',
      result([1, 2]),
      { source: 'JS SDK 1.9, Parse.Promise.when' },
    ),
    row(
      'when of nothing',
      "Parse.Promise.when([]).then(function () { response.success('at once'); });",
      result('at once'),
    ),
    row(
      'when that fails gives the errors',
      "Parse.Promise.when([Parse.Promise.as(1), Parse.Promise.error('two')]).then(null," +
        ' function (errors) { response.success(errors[1]); });',
      result('two'),
    ),
    row(
      'always after a success',
      "Parse.Promise.as(1).always(function () { response.success('done'); });",
      result('done'),
    ),
    row(
      'always after an error',
      "Parse.Promise.error(1).always(function () { response.success('done'); });",
      result('done'),
    ),
    row(
      'done and fail',
      'Parse.Promise.error(4).done(function () { response.success(0); }).fail(function (n) { response.success(n); });',
      result(4),
    ),
    row(
      'a promise of its own that is resolved later',
      "var promise = new Parse.Promise(); setTimeout(function () { promise.resolve('late'); }, 5);" +
        'promise.then(response.success);',
      result('late'),
    ),
    row(
      'a promise of its own that is rejected',
      "var promise = new Parse.Promise(); promise.reject('no'); promise.then(response.success, response.error);",
      error(141, 'no'),
    ),
    row('is', 'response.success([Parse.Promise.is(Parse.Promise.as(1)), Parse.Promise.is(1)]);', result([true, false])),
    row(
      'in series',
      `var Item = Parse.Object.extend('Item_');
        new Parse.Query('Item_').ascending('n').find().then(function (items) {
          var promise = Parse.Promise.as();
          Parse._.each(items, function (item) {
            promise = promise.then(function () { return item.destroy(); });
          });
          return promise;
        }).then(function () { return new Parse.Query(Item).count(); }).then(response.success);`,
      result(0),
      { before: items },
    ),
    row(
      'in parallel',
      `new Parse.Query('Item_').find().then(function (items) {
          var promises = [];
          Parse._.each(items, function (item) { item.increment('n', 10); promises.push(item.save()); });
          return Parse.Promise.when(promises);
        }).then(function () { return new Parse.Query('Item_').greaterThan('n', 10).count(); })
        .then(response.success, response.error);`,
      result(3),
      { before: items },
    ),
    row(
      'of a query, in a chain',
      `${items2}.descending('n').first().then(function (item) { item.set('best', true); return item.save(); })
        .then(function (item) { response.success([item.get('n'), item.get('best')]); }, response.error);`,
      result([3, true]),
      { before: items },
    ),
  ]),
  ...subject('triggers of hosted Parse', "hosted Parse's Cloud Code guide, beforeSave Triggers", [
    {
      name: 'beforeSave refuses',
      source: 'Parse Server 2: 141; hosted Parse said 142 (docs/guides/cloud-code.md, What differs)',
      code: `Parse.Cloud.beforeSave('Item_', function (request, response) {
          if (request.object.get('stars') < 1) { response.error('you cannot give less than one star'); }
          else { response.success(); } });`,
      ask: post('/classes/Item_', { stars: 0 }),
      answer: error(141, 'you cannot give less than one star'),
      after: [{ ...post('/classes/Item_', { stars: 2 }), answer: created, status: 201 }],
    },
    {
      name: 'beforeSave changes',
      code: `Parse.Cloud.beforeSave('Item_', function (request, response) {
          var text = request.object.get('text');
          if (text.length > 5) { request.object.set('text', text.substring(0, 2) + '...'); }
          response.success(); });`,
      ask: post('/classes/Item_', { text: 'wonderful' }, { keep: { id: 'objectId' } }),
      status: 201,
      answer: { ...created, text: 'wo...' },
      after: [{ method: 'GET', path: '/classes/Item_/<id>', answer: { ...stored, text: 'wo...' } }],
    },
    {
      name: 'beforeSave answers later',
      source: 'Parse Server 2: 141; hosted Parse said 142 (docs/guides/cloud-code.md, What differs)',
      code: `Parse.Cloud.beforeSave('Item_', function (request, response) {
          new Parse.Query('Item_').equalTo('name', request.object.get('name')).first({
            success: function (same) { if (same) { response.error('taken'); } else { response.success(); } },
            error: function () { response.error('Could not look.'); } }); });`,
      before: [post('/classes/Item_', { name: 'a' })],
      ask: post('/classes/Item_', { name: 'a' }),
      answer: error(141, 'taken'),
    },
    {
      name: 'afterSave',
      code: `Parse.Cloud.afterSave('Item_', function (request) {
          new Parse.Query('Post_').get(request.object.get('post').id, { success: function (post) {
            post.increment('comments'); post.save(); }, error: function (error) { console.error(error.message);
              } }); });`,
      before: [post('/classes/Post_', { comments: 0 }, { keep: { post: 'objectId' } })],
      ask: post('/classes/Item_', { post: pointer('Post_', '<post>') }),
      status: 201,
      answer: created,
      after: [{ method: 'GET', path: '/classes/Post_/<post>', answer: { ...stored, comments: 1 } }],
    },
    {
      name: 'beforeDelete refuses',
      source: 'Parse Server 2: 141; hosted Parse said 142 (docs/guides/cloud-code.md, What differs)',
      code: `Parse.Cloud.beforeDelete('Item_', function (request, response) {
          new Parse.Query('Photo_').equalTo('album', request.object).count({
            success: function (count) {
              if (count > 0) { response.error("Can't delete album if it still has photos."); }
              else { response.success(); } },
            error: function (error) { response.error('Error ' + error.code); } }); });`,
      before: [
        post('/classes/Item_', {}, { keep: { id: 'objectId' } }),
        post('/classes/Photo_', { album: pointer('Item_', '<id>') }),
      ],
      ask: { method: 'DELETE', path: '/classes/Item_/<id>' },
      answer: error(141, "Can't delete album if it still has photos."),
      after: [{ method: 'GET', path: '/classes/Item_/<id>', answer: stored }],
    },
    {
      name: 'afterDelete',
      code: `Parse.Cloud.afterDelete('Item_', function (request) {
          new Parse.Query('Comment_').equalTo('post', request.object).find({ success: function (comments) {
            Parse.Object.destroyAll(comments, { success: function () {}, error: function () {} }); } }); });`,
      before: [
        post('/classes/Item_', {}, { keep: { id: 'objectId' } }),
        post('/classes/Comment_', { post: pointer('Item_', '<id>') }),
      ],
      ask: { method: 'DELETE', path: '/classes/Item_/<id>' },
      answer: {},
      after: [{ method: 'GET', path: '/classes/Comment_', answer: { results: [] } }],
    },
  ]),
  ...subject('useMasterKey', "hosted Parse's Cloud Code guide, Parse.Cloud.useMasterKey", [
    row(
      'for the call',
      `Parse.Cloud.useMasterKey();
        new Parse.Query('Item_').count().then(response.success);`,
      result(1),
      { before: [post('/classes/Item_', { ACL: {} }, master)] },
    ),
    row('not without it', "new Parse.Query('Item_').count().then(response.success);", result(0), {
      before: [post('/classes/Item_', { ACL: {} }, master)],
    }),
    {
      name: 'of one request',
      source: 'Cloud Code guide, Security',
      before: [post('/classes/Item_', { ACL: {} }, master)],
      code: modern(`const query = new Parse.Query('Item_');
        return [await query.count(), await query.count({ useMasterKey: true }), await query.count()];`),
      ask: call(),
      answer: result([0, 1, 0]),
    },
    {
      name: 'taken back for one request',
      source: 'docs/guides/cloud-code.md, Rights',
      before: [post('/classes/Item_', { ACL: {} }, master)],
      code: modern(`Parse.Cloud.useMasterKey();
        const query = new Parse.Query('Item_');
        return [await query.count(), await query.count({ useMasterKey: false })];`),
      ask: call(),
      answer: result([1, 0]),
    },
    {
      name: "a user's session",
      source: 'JS guide, Security',
      code: modern(`const query = new Parse.Query('Item_');
        return query.count({ sessionToken: request.user.getSessionToken() });`),
      before: [
        post('/classes/Item_', { ACL: { '<ann>': { read: true } } }, master),
        post('/classes/Item_', { ACL: {} }, master),
      ],
      ask: call({}, { as: 'ann' }),
      answer: result(1),
    },
    {
      name: 'a session that is over',
      source: 'protocol 14',
      code: modern("return new Parse.Query('Item_').count({ sessionToken: 'r:0123456789abcdef0123456789abcdef' });"),
      ask: call(),
      answer: { code: 209, ...others },
    },
    {
      name: 'a write without rights',
      source: 'protocol 14',
      before: [post('/classes/Item_', { ACL: { '*': { read: true } } }, master)],
      code: modern("const item = await new Parse.Query('Item_').first(); return item.save({ n: 1 });"),
      ask: call(),
      answer: error(101, containing('not found')),
    },
  ]),
];
