// Requests of code to other servers, and Satchel's features besides objects: pushes, schemas, analytics.
import { call, containing, error, hosted, modern, others, peer, result, subject } from '../rows.mjs';

const row = (name, body, answer, more = {}) => ({
  name,
  ask: call({ url: '<peer>' }),
  answer: answer?.code ? answer : result(answer),
  code: modern(body),
  ...more,
});
/** A function in hosted Parse's style that calls a module. */
const old = (name, body, answer, more = {}) => ({
  name,
  ask: call({ url: '<peer>' }),
  answer: answer?.code ? answer : result(answer),
  code: hosted(body),
  ...more,
});
const stripe = "var Stripe = require('stripe'); Stripe.initialize('sk_test_1');\n";
const mailgun = "var Mailgun = require('mailgun'); Mailgun.initialize('shop_.example', 'key-1');\n";

export default [
  ...subject('httpRequest', 'Cloud Code guide, Networking', [
    row(
      'a GET',
      `const response = await Parse.Cloud.httpRequest({ url: request.params.url + '/get' });
      return [response.status, response.text, response.data];`,
      [200, '{"success": {}}', { success: {} }],
    ),
    row(
      'a POST of JSON',
      `const response = await Parse.Cloud.httpRequest({ method: 'POST', url: request.params.url + '/json_',
        headers: { 'Content-Type': 'application/json;charset=utf-8' }, body: { object: { title: 'Vote' } } });
      return response.data;`,
      { success: { title: 'Vote' } },
      { before: [peer('json_', { how: 'echo' })] },
    ),
    row(
      'an answer of 400 and more rejects',
      `return Parse.Cloud.httpRequest({ method: 'POST', url: request.params.url + '/gone_' })
      .then(() => 'answered', (response) => [response.status, response.data]);`,
      [404, { no: 1 }],
      { before: [peer('gone_', { status: 404, json: { no: 1 } })] },
    ),
    row(
      'the response is the error of a call that does not catch it',
      "return Parse.Cloud.httpRequest({ method: 'POST', url: request.params.url + '/gone_' });",
      { code: 141, ...others },
      { before: [peer('gone_', { status: 500, json: {} })] },
    ),
    row(
      'callbacks',
      `return new Promise((done) => Parse.Cloud.httpRequest({ url: request.params.url + '/get',
        success: (response) => done(response.status), error: () => done('failed') }));`,
      200,
      { source: "hosted Parse's Cloud Code guide, Networking" },
    ),
    row(
      'params',
      `const response = await Parse.Cloud.httpRequest({
        method: 'POST', url: request.params.url + '/find_', params: { q: 'Sean Plott' } });
      return response.data;`,
      { found: true },
      { before: [peer('find_?q=Sean+Plott', { json: { found: true } })] },
    ),
    row(
      'params as a text',
      `const response = await Parse.Cloud.httpRequest({
        method: 'POST', url: request.params.url + '/find_', params: 'q=Sean' });
      return response.data;`,
      { found: true },
      { before: [peer('find_?q=Sean', { json: { found: true } })] },
    ),
    row(
      'a redirect is not followed',
      `return Parse.Cloud.httpRequest({ method: 'POST', url: request.params.url + '/away_' })
      .then((response) => response.status, (response) => response.status);`,
      302,
      { before: [peer('away_', { how: 'redirect', to: '/there' })] },
    ),
    row(
      'a redirect is followed',
      `const response = await Parse.Cloud.httpRequest({
        method: 'POST', url: request.params.url + '/away_', followRedirects: true });
      return response.status;`,
      200,
      { before: [peer('away_', { how: 'redirect', to: '/there' })] },
    ),
    row(
      'buffer and headers',
      `const response = await Parse.Cloud.httpRequest({ url: request.params.url + '/get' });
      return [Buffer.isBuffer(response.buffer), response.headers['content-type']];`,
      [true, 'application/json'],
    ),
    row('nobody listens', "return Parse.Cloud.httpRequest({ url: 'http://127.0.0.1:1/' });", { code: 141, ...others }),
  ]),
  ...subject('stripe', "hosted Parse's Cloud Code guide, Stripe", [
    old(
      'a charge',
      `${stripe}Stripe.Charges.create({ amount: 1000, currency: 'usd', card: 'tok_1' }, {
        success: function (charge) { response.success(charge.id);
          }, error: function () { response.error('Uh oh, something went wrong'); } });`,
      'ch_1',
      { before: [peer('v1/charges', { json: { id: 'ch_1' } })] },
    ),
    old(
      'a declined card',
      `${stripe}Stripe.Coupons.create({ id: 'c' }, {
        success: function () { response.success('paid'); }, error: function (error) { response.error(error.message);
          } });`,
      error(141, 'Your card was declined.'),
      {
        before: [
          peer('v1/coupons', {
            status: 402,
            json: { error: { type: 'card_error', message: 'Your card was declined.' } },
          }),
        ],
      },
    ),
    old(
      'a promise',
      `${stripe}Stripe.Tokens.create({ card: { number: '4242' } }).then(function (token) {
        response.success(token.id); }, response.error);`,
      'tok_9',
      { before: [peer('v1/tokens', { json: { id: 'tok_9' } })] },
    ),
  ]),
  ...subject('mailgun', "hosted Parse's Cloud Code guide, Mailgun", [
    old(
      'a mail',
      `${mailgun}Mailgun.sendEmail({
        to: 'a@customers.example', from: 'shop@shop.example', subject: 'Hi', text: 'Hello' }, {
        success: function () { response.success('Email sent!');
          }, error: function () { response.error('Uh oh, something went wrong'); } });`,
      'Email sent!',
      { before: [peer('v3/shop_.example/messages', { json: { id: 'm' } })] },
    ),
    old(
      'a mail that is refused',
      `${mailgun}Mailgun.sendEmail({ to: 'nobody' }, {
        success: function () { response.success('Email sent!');
          }, error: function () { response.error('Uh oh, something went wrong'); } });`,
      error(141, 'Uh oh, something went wrong'),
      { before: [peer('v3/shop_.example/messages', { status: 400, json: {} })] },
    ),
  ]),
  ...subject('modules', "hosted Parse's Cloud Code guide, Modules", [
    row('of Node', "return require('path').join('a', 'b');", 'a/b'),
    row(
      'parse/node is this SDK',
      "return require('parse/node') === Parse && require('parse/node').Object === Parse.Object;",
      true,
      { source: 'JS guide, Getting Started' },
    ),
    row('a module that is not there', "return require('no-such-module_');", {
      code: 141,
      error: containing("Cannot find module 'no-such-module_'"),
    }),
    row('underscore as Parse._', 'return Parse._.map([1, 2], (n) => n * 2);', [2, 4]),
    row(
      'the master key is not in the process',
      `return [Parse.masterKey === undefined,
        Object.keys(process.env).filter((key) => key.startsWith("SATCHEL_")).length];`,
      [true, 0],
      { source: 'docs/guides/cloud-code.md, Rights' },
    ),
    row('the application id', 'return Parse.applicationId;', 'satchel'),
  ]),
  ...subject('pushes', 'JS guide, Push Notifications', [
    row(
      'to a channel',
      `return (await Parse.Push.send({ channels: ['Giants_'], data: { alert: 'Hello' } }, {
        useMasterKey: true })).length;`,
      10,
    ),
    row(
      'to a query',
      `const where = new Parse.Query(Parse.Installation).equalTo('team', 'red_');
      const id = await Parse.Push.send({ where, data: { alert: 'Hello' } }, { useMasterKey: true });
      return (await Parse.Push.getPushStatus(id, { useMasterKey: true })).get('source');`,
      'rest',
      { source: 'JS SDK, Parse.Push' },
    ),
    row(
      'to both',
      `return Parse.Push.send({ channels: ['a'], where: new Parse.Query(Parse.Installation), data: {
        alert: 'x' } }, { useMasterKey: true });`,
      error(115, 'Channels and query can not be set at the same time.'),
      { source: 'protocol 9' },
    ),
    row(
      'to nobody',
      "return Parse.Push.send({ data: { alert: 'x' } }, { useMasterKey: true });",
      { code: 115, ...others },
      { source: 'protocol 9' },
    ),
    row(
      'without the master key',
      "return Parse.Push.send({ channels: ['a'], data: { alert: 'x' } }, { useMasterKey: false });",
      { code: 119, ...others },
      { source: 'protocol 9' },
    ),
    row(
      'two ways to expire',
      `return Parse.Push.send({ channels: ['a'], data: {
        alert: 'x' }, expiration_time: new Date(), expiration_interval: 5 }, { useMasterKey: true });`,
      { code: 141, ...others },
      { source: 'JS SDK, Parse.Push.send' },
    ),
  ]),
  ...subject('schemas', 'JS guide, Schema', [
    row(
      'save and get',
      `const schema = new Parse.Schema('Item_');
      schema.addString('name').addNumber('n').addPointer('owner', '_User');
      await schema.save();
      const { fields } = await schema.get();
      return [fields.name.type, fields.n.type, fields.owner.targetClass];`,
      ['String', 'Number', '_User'],
    ),
    row(
      'update',
      `const schema = new Parse.Schema('Item_');
      await schema.addString('a').save();
      await schema.addBoolean('b').deleteField('a').update();
      const { fields } = await schema.get();
      return [fields.a === undefined, fields.b.type];`,
      [true, 'Boolean'],
    ),
    row(
      'one that is there',
      "await new Parse.Schema('Item_').save(); return new Parse.Schema('Item_').save();",
      error(103, '<any text>'),
      { source: 'protocol 14' },
    ),
    row('one that is not there', "return new Parse.Schema('Nothing_').get();", error(103, '<any text>'), {
      source: 'protocol 14',
    }),
    row(
      'delete',
      `const schema = new Parse.Schema('Item_');
      await schema.save();
      await schema.delete();
      return (await Parse.Schema.all()).some(({ className }) => className === 'Item_');`,
      false,
    ),
    row(
      'delete of one that has objects',
      "await new Parse.Object('Item_').save(); return new Parse.Schema('Item_').delete();",
      error(255, '<any text>'),
      { source: 'protocol 14' },
    ),
    row(
      'purge',
      `await new Parse.Object('Item_').save();
      await new Parse.Schema('Item_').purge();
      return new Parse.Query('Item_').count();`,
      0,
    ),
  ]),
  ...subject('classes and hooks of the server', 'JS SDK, Parse.CLP and Parse.Hooks', [
    row(
      'permissions of a class',
      `const clp = new Parse.CLP();
      clp.setReadAccess('*', true);
      clp.setCreateRequiresAuthentication(true);
      clp.setUpdateAccess(new Parse.Role('staff', new Parse.ACL()), true);
      clp.setPublicProtectedFields(['secret']);
      await new Parse.Schema('Item_').addString('secret').setCLP(clp).save();
      const { find, create, update, protectedFields } = (await new Parse.Schema('Item_').get()).classLevelPermissions;
      return [find, create, update, protectedFields, clp.getPublicReadAccess(), clp.getPublicWriteAccess()];`,
      [{ '*': true }, { requiresAuthentication: true }, { 'role:staff': true }, { '*': ['secret'] }, true, false],
    ),
    row(
      'webhooks',
      `const { Hooks } = Parse;
      await Hooks.createFunction('hook_', 'https://hooks.example/f');
      await Hooks.createTrigger('Item_', 'afterSave', 'https://hooks.example/t');
      await Hooks.updateFunction('hook_', 'https://hooks.example/g');
      const read = [await Hooks.getFunction('hook_'), await Hooks.getTrigger('Item_', 'afterSave')];
      await Hooks.removeFunction('hook_');
      await Hooks.removeTrigger('Item_', 'afterSave');
      const left = [...await Hooks.getFunctions(), ...await Hooks.getTriggers()];
      return [...read, left.some((one) => one.functionName === 'hook_' || one.className === 'Item_')];`,
      [
        { functionName: 'hook_', url: 'https://hooks.example/g' },
        { className: 'Item_', triggerName: 'afterSave', url: 'https://hooks.example/t' },
        false,
      ],
    ),
    row('a webhook without a name', "return Parse.Hooks.create({ url: 'https://hooks.example/' });", {
      code: 143,
      ...others,
    }),
  ]),
  ...subject('others', 'JS guide, Analytics', [
    row('an event', "await Parse.Analytics.track('read_', { page: '1' }); return 'tracked';", 'tracked'),
    row(
      'sendEmail',
      `const mail = { from: 'Ann <ann@customers.example>', to: 'b@customers.example', subject: 'Hi', text: 'Hello' };
      const { mails } = await Parse.Cloud.sendEmail(mail);
      const copied = await Parse.Cloud.sendEmail({ ...mail, cc: 'c@customers.example' });
      return [mails.length, copied.mails.length, await Parse.Cloud.sendEmail({ ...mail, cc: 1 }).catch((e) => e.code)];`,
      [1, 2, 142],
      { source: "Parse Server's Cloud API, sendEmail" },
    ),
  ]),
];
