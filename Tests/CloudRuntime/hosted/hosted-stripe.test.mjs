// Hosted Parse's Stripe module with the shop's account: its requests to the shop's payments, and the answers that code
// gets.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeHost } from '../fake-host.mjs';

const ASKED = 'POST /functions/stripeRequest';

const main = `
  var Stripe = require('stripe');
  var call = function (request) {
    var names = request.params.method.split('.');
    return Stripe[names[0]][names[1]].apply(null, request.params.values);
  };
  Parse.Cloud.define('call', call);
  Parse.Cloud.define('initialized', function (request) {
    Stripe.initialize('sk_of_the_code');
    return call(request);
  });
  Parse.Cloud.define('callbacks', function (request, response) {
    Stripe.initialize('sk_of_the_code');
    Stripe.Charges.create({ amount: 350, currency: 'usd', source: 'tok_visa' }, {
      success: function (charge) { response.success(charge.id); },
      error: function (error) {
        response.success([error.httpStatus, error.type, error.code, error.message, error instanceof Error]);
      },
    });
  });
`;

/** A host whose payments give this answer, and a run of one of main's functions. */
async function start(answer) {
  const host = await FakeHost.start(main, { config: { providers: 'shop' }, answers: { [ASKED]: answer } });
  assert.equal(host.loaded.error, null, host.loaded.error && host.loaded.error.stack);
  const run = (name, params = {}) => host.run({ kind: 'function', name, params, request: {} });
  return { host, run };
}

const paid = (body) => ({ result: { status: 200, body } });

const requests = [
  ['Charges.create', [{ amount: 350, metadata: { app: 'shop' } }], 'POST', ['charges'],
    [['amount', '350'], ['metadata[app]', 'shop']]],
  ['Charges.retrieve', ['ch_1'], 'GET', ['charges', 'ch_1'], []],
  ['Charges.refund', ['ch_1', 100], 'POST', ['charges', 'ch_1', 'refund'], [['amount', '100']]],
  ['Charges.refund', ['ch_1'], 'POST', ['charges', 'ch_1', 'refund'], []],
  ['Charges.list', [{ limit: 3 }], 'GET', ['charges'], [['limit', '3']]],
  ['Customers.update', ['cus_1', { card: { name: 'Ann' } }], 'POST', ['customers', 'cus_1'], [['card[name]', 'Ann']]],
  ['Customers.del', ['cus_1'], 'DELETE', ['customers', 'cus_1'], []],
  ['Customers.cancelSubscription', ['cus_1', true], 'DELETE', ['customers', 'cus_1', 'subscription'],
    [['at_period_end', 'true']]],
  ['Customers.deleteDiscount', ['cus_1'], 'DELETE', ['customers', 'cus_1', 'discount'], []],
  ['Coupons.retrieve', ['a/b'], 'GET', ['coupons', 'a/b'], []],
  ['Invoices.pay', ['in_1'], 'POST', ['invoices', 'in_1', 'pay'], []],
];

test("requests are asked with the master key and without the code's", async (suite) => {
  const { host, run } = await start(() => paid({ id: 'made' }));
  for (const [method, values, verb, path, form] of requests) {
    await suite.test(`${method} of ${JSON.stringify(values)}`, async () => {
      assert.deepEqual((await run('initialized', { method, values })).result, { id: 'made' });
      const { auth, body } = host.asks.at(-1);
      assert.equal(auth.master, true);
      assert.deepEqual(body, { method: verb, path, form });
    });
  }
  assert.ok(!JSON.stringify(host.asks).includes('sk_of_the_code'));
  await host.stop();
});

test('callbacks hear of a charge, and of a refusal what Stripe says', async () => {
  const error = { type: 'card_error', code: 'card_declined', message: 'Your card was declined.' };
  const { host, run } = await start([paid({ id: 'ch_1' }), { result: { status: 402, body: { error } } }]);
  assert.equal((await run('callbacks')).result, 'ch_1');
  const expected = [402, 'card_error', 'card_declined', 'Your card was declined.', true];
  assert.deepEqual((await run('callbacks')).result, expected);
  await host.stop();
});

test('what the shop refuses is the error of the call', async () => {
  const { host, run } = await start({ status: 400, body: { code: 142, error: 'No such path.' } });
  const { error } = await run('initialized', { method: 'Charges.retrieve', values: [''] });
  assert.deepEqual([error.code, error.message], [142, 'No such path.']);
  await host.stop();
});

test('initialize comes first here, too', async () => {
  const { host, run } = await start(paid({}));
  const { error } = await run('call', { method: 'Charges.retrieve', values: ['ch_1'] });
  assert.equal(error.message, 'Stripe.initialize(key) comes first.');
  assert.deepEqual(host.asks, []);
  await host.stop();
});
