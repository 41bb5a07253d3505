// Hosted Parse's modules for Stripe and Mailgun with the code's own accounts, as an app of 2014 used them, against a
// server that records its requests.
import assert from 'node:assert/strict';
import http from 'node:http';
import { test } from 'node:test';
import { FakeHost } from '../fake-host.mjs';

const main = `
  var Stripe = require('stripe');
  var Mailgun = require('mailgun');
  Stripe.initialize('sk_test_1');
  Mailgun.initialize('shop.example', 'key-1');
  Parse.Cloud.define('createStripeCustomer', function (request, response) {
    Stripe.Customers.create(
      { card: request.params.tokenId, email: request.params.customerEmail, metadata: { app: 'shop' } },
      {
        success: function (customer) { response.success(customer.id); },
        error: function (error) { response.error(error.message); },
      });
  });
  Parse.Cloud.define('ChargeToken', function (request, response) {
    Stripe.Charges.create({ amount: 350, currency: 'usd', card: request.params.chargeToken }).then(function (charge) {
      return Mailgun.sendEmail({ to: 'ann@example.com', from: 'shop@example.com', subject: 'Paid', text: charge.id });
    }).then(function () { response.success('Charged'); }, function (error) { response.error(error.message); });
  });
  Parse.Cloud.define('mail', function (request, response) {
    Mailgun.sendEmail({ to: ['a@x.example', 'b@x.example'], subject: 'refuse' }, {
      success: function () { response.success('sent'); },
      error: function (answer) { response.error('refused with ' + answer.status); },
    });
  });
`;

test("hosted Parse's modules", async (suite) => {
  const requests = [];
  const server = http.createServer((request, response) => {
    const chunks = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
      const form = [...new URLSearchParams(Buffer.concat(chunks).toString())];
      const key = Buffer.from(request.headers.authorization.split(' ')[1], 'base64').toString();
      requests.push({ method: request.method, url: request.url, form, key });
      const isRefused = form.some(([, value]) => value === 'tok_bad' || value === 'refuse');
      response.writeHead(isRefused ? 402 : 200, { 'Content-Type': 'application/json' });
      const error = { type: 'card_error', code: 'card_declined', message: 'Your card was declined.' };
      response.end(JSON.stringify(isRefused ? { error } : { id: `made_${requests.length}` }));
    });
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${server.address().port}`;
  const host = await FakeHost.start(main, { config: { providers: 'own', stripeURL: url, mailgunURL: url } });
  const run = (name, params = {}) => host.run({ kind: 'function', name, params, request: {} });
  assert.equal(host.loaded.error, null, host.loaded.error && host.loaded.error.stack);

  await suite.test('a customer is made with a form', async () => {
    const { result } = await run('createStripeCustomer', { tokenId: 'tok_visa', customerEmail: 'ann@example.com' });
    assert.equal(result, 'made_1');
    assert.deepEqual(requests.at(-1), {
      method: 'POST', url: '/v1/customers', key: 'sk_test_1:',
      form: [['card', 'tok_visa'], ['email', 'ann@example.com'], ['metadata[app]', 'shop']],
    });
  });

  await suite.test('a refusal reaches the callback', async () => {
    const { error } = await run('createStripeCustomer', { tokenId: 'tok_bad' });
    assert.deepEqual([error.code, error.message], [141, 'Your card was declined.']);
  });

  await suite.test('a charge and its mail follow each other', async () => {
    assert.equal((await run('ChargeToken', { chargeToken: 'tok_visa' })).result, 'Charged');
    const [charge, mail] = requests.slice(-2);
    assert.deepEqual(charge.form, [['amount', '350'], ['currency', 'usd'], ['card', 'tok_visa']]);
    assert.deepEqual([mail.url, mail.key], ['/v3/shop.example/messages', 'api:key-1']);
    assert.deepEqual(mail.form.at(-1), ['text', 'made_3']);
  });

  await suite.test('a mail to many that is refused', async () => {
    assert.equal((await run('mail')).error.message, 'refused with 402');
    assert.deepEqual(requests.at(-1).form.slice(0, 2), [['to', 'a@x.example'], ['to', 'b@x.example']]);
  });

  await host.stop();
  await new Promise((resolve) => server.close(resolve));
});

test('a module that is installed beside main.js is taken instead', async () => {
  const host = await FakeHost.start({
    'main.js': "Parse.Cloud.define('f', () => require('stripe').mine);",
    'node_modules/stripe/index.js': 'exports.mine = true;',
  });
  const outcome = await host.run({ kind: 'function', name: 'f', params: {}, request: {} });
  assert.equal(outcome.result, true);
  await host.stop();
});
