// The storefront's modules for Stripe's card form. Stripe's own script is replaced by a stub.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadShop } from '../pages.mjs';

const { paymentMethod, stripe } = await loadShop('card.js');

test("Stripe's script is awaited, and its absence is noticed", async () => {
  const script = new EventTarget();
  const page = { querySelector: () => script };
  const scope = {};
  const began = stripe({ key: 'pk_1', language: 'de' }, { scope, page });
  scope.Stripe = (key, options) => ({ key, options });
  script.dispatchEvent(new Event('load'));
  assert.deepEqual(await began, { key: 'pk_1', options: { locale: 'de' } });
  const again = await stripe({ key: 'pk_1', language: 'de' }, { scope });
  assert.equal(again.key, 'pk_1');
  const away = stripe({ key: 'pk_1' }, { scope: {}, page });
  script.dispatchEvent(new Event('error'));
  await assert.rejects(away);
});

test('a card becomes a payment method, and each error is told', async () => {
  const elements = { submit: async () => ({}) };
  const good = { createPaymentMethod: async () => ({ paymentMethod: { id: 'pm_1' } }) };
  assert.equal(await paymentMethod(good, elements), 'pm_1');
  const error = { type: 'validation_error', message: 'Incomplete.' };
  await assert.rejects(paymentMethod(good, { submit: async () => ({ error }) }), (thrown) => thrown === error);
  await assert.rejects(
    paymentMethod({ createPaymentMethod: async () => ({ error }) }, elements),
    (thrown) => thrown === error,
  );
});
