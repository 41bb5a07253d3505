// Hosted Parse's Mailgun module with the shop's account: its requests to the mail service, and the answers that code
// gets.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeHost } from '../fake-host.mjs';

const PATH = 'POST /functions/sendShopMail';
const main = `
  var Mailgun = require('mailgun');
  var known = Mailgun.initialize('shop.example', 'key-1') === Mailgun;
  Parse.Cloud.define('known', function () { return known; });
  Parse.Cloud.define('mail', function (request, response) {
    Mailgun.sendEmail(request.params, {
      success: function (answer) { response.success([answer.status, answer.data, JSON.parse(answer.text).message]); },
      error: function (answer) { response.error(answer.status + ' ' + answer.data.message); },
    });
  });
  Parse.Cloud.define('promise', async function (request) {
    const answer = await Mailgun.sendEmail(request.params).catch((refusal) => refusal);
    return [answer.status, answer.data.message];
  });
`;
const queued = { result: { mails: [{ id: 7, messageId: 'm1@shop.example' }, { id: 8, messageId: 'm2@shop.example' }] } };

test('Mailgun with the account of the shop', async (suite) => {
  const host = await FakeHost.start(main, { config: { providers: 'shop', mailgunURL: 'http://127.0.0.1:1' } });
  assert.equal(host.loaded.error, null, host.loaded.error && host.loaded.error.stack);
  const run = (name, params = {}) => host.run({ kind: 'function', name, params, request: {} });
  const refused = (status, code, error) => ({ status, body: { code, error } });

  await suite.test('a mail is queued with the rights of the server', async () => {
    host.answers[PATH] = queued;
    const message = { to: ['a@x.example', 'b@x.example'], subject: 5, text: 'Hello', 'h:Reply-To': 'c@x.example' };
    const { result } = await run('mail', message);
    assert.deepEqual(result, [
      200, { id: '<m1@shop.example>', message: 'Queued. Thank you.' }, 'Queued. Thank you.',
    ]);
    const { method, path, body, auth } = host.asks.at(-1);
    assert.deepEqual([method, path, auth.master], ['POST', '/functions/sendShopMail', true]);
    assert.deepEqual(body, {
      to: ['a@x.example', 'b@x.example'], subject: '5', text: 'Hello', replyTo: 'c@x.example',
    });
    assert.equal((await run('known')).result, true);
  });

  await suite.test('copies, files and HTML go to the mail service in its form', async () => {
    host.answers[PATH] = queued;
    await run('mail', {
      to: 'a@x.example', cc: 'b@x.example', bcc: ['c@x.example'], html: '<p>Hello</p>',
      attachment: { filename: 'a.txt', data: 'Hello', contentType: 'text/plain' },
    });
    assert.deepEqual(host.asks.at(-1).body, {
      to: 'a@x.example', cc: 'b@x.example', bcc: ['c@x.example'], html: '<p>Hello</p>',
      attachments: [{ name: 'a.txt', contentType: 'text/plain', base64: 'SGVsbG8=' }],
    });
    await run('mail', {
      to: 'a@x.example', text: 'Hello', attachments: [{ filename: 'b', content: 'SGk=', encoding: 'base64' }, { name: 'c', base64: 'YQ==' }],
    });
    assert.deepEqual(host.asks.at(-1).body.attachments.map((file) => [file.name, file.base64]), [['b', 'SGk='], ['c', 'YQ==']]);
  });

  await suite.test('what cannot be sent as it is asked for is left to the mail service to refuse', async () => {
    host.answers[PATH] = refused(400, 142, 'cc is not supported.');
    const { error } = await run('mail', { to: 'a@x.example', text: 'Hello', cc: 'b@x.example', attachment: { a: 1 } });
    assert.deepEqual([error.code, error.message], [141, '400 cc is not supported.']);
    assert.deepEqual(host.asks.at(-1).body, {
      to: 'a@x.example', text: 'Hello', cc: 'b@x.example', attachment: { a: 1 },
    });
  });

  for (const [code, status] of [[142, 400], [155, 429], [1, 500], [119, 500]]) {
    await suite.test(`the error ${code} is the status ${status}`, async () => {
      host.answers[PATH] = refused(400, code, 'no');
      assert.deepEqual((await run('promise', {})).result, [status, 'no']);
    });
  }

  await host.stop();
});

test('Mailgun without initialize', async () => {
  const host = await FakeHost.start(`
    Parse.Cloud.define('mail', () => require('mailgun').sendEmail({ to: 'a@x.example', text: 'Hello' }));
  `);
  const { error } = await host.run({ kind: 'function', name: 'mail', params: {}, request: {} });
  assert.deepEqual([error.code, error.message], [141, 'Mailgun.initialize(domain, key) comes first.']);
  assert.deepEqual(host.asks, []);
  await host.stop();
});
