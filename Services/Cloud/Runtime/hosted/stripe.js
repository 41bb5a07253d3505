'use strict';
// `require('stripe')` as on hosted Parse: Stripe.initialize(key), Stripe.Charges.create(data, { success, error }). The
// shop's payments service sends the requests with the shop's account. Or the module calls Stripe itself, with the
// code's own key; the payments service does not record such requests.
const { promised } = require('../parse/promise');
const { answerOf } = require('../parse/rest');
const { settings } = require('../settings');
const { pairs, sendForm } = require('./form');

const STANDARD_URL = 'https://api.stripe.com';
let key;

/** A Stripe error in the form for callbacks: its members and a message. */
function errorOf(thrown) {
  const said = thrown && thrown.data && thrown.data.error;
  if (!said) return thrown instanceof Error ? thrown : new Error('Stripe cannot be reached.');
  return Object.assign(new Error(said.message || 'Stripe refused.'), said, { httpStatus: thrown.status });
}

/** Sends the request through the shop's payments service, whose provider may be the sandbox. */
async function askShop(method, path, values) {
  const asked = { method, path, form: pairs(values || {}, { brackets: true }) };
  const { result } = await answerOf('POST', '/functions/stripeRequest', asked, { useMasterKey: true });
  if (result.status >= 400) throw errorOf({ status: result.status, data: result.body });
  return result.body;
}

/** Sends the request to Stripe with the code's own key. */
async function askStripe(method, path, values) {
  try {
    const place = path.map((part) => encodeURIComponent(part)).join('/');
    return (await sendForm(method, `${settings.config.stripeURL || STANDARD_URL}/v1/${place}`, values, [key, ''])).data;
  } catch (thrown) {
    throw errorOf(thrown);
  }
}

/** @param path the parts of the path after the version, including ids */
function ask(method, path, values, options) {
  return promised(async () => {
    if (!key) throw new Error('Stripe.initialize(key) comes first.');
    return (settings.config.providers === 'own' ? askStripe : askShop)(method, path.map(String), values);
  }, options || {});
}

const METHODS = {
  create: (path) => (data, options) => ask('POST', [path], data, options),
  retrieve: (path) => (id, options) => ask('GET', [path, id], {}, options),
  update: (path) => (id, data, options) => ask('POST', [path, id], data, options),
  del: (path) => (id, options) => ask('DELETE', [path, id], {}, options),
  list: (path) => (data, options) => ask('GET', [path], data, options),
};

function resource(path, methods) {
  return Object.fromEntries(methods.map((name) => [name, METHODS[name](path)]));
}

const everything = Object.keys(METHODS);

module.exports = {
  initialize(secretKey) {
    key = secretKey;
  },
  Charges: {
    ...resource('charges', ['create', 'retrieve', 'update', 'list']),
    refund: (id, amount, options) => ask('POST', ['charges', id, 'refund'], amount ? { amount } : {}, options),
  },
  Customers: {
    ...resource('customers', everything),
    updateSubscription: (id, data, options) => ask('POST', ['customers', id, 'subscription'], data, options),
    cancelSubscription: (id, atPeriodEnd, options) => {
      const data = atPeriodEnd ? { at_period_end: true } : {};
      return ask('DELETE', ['customers', id, 'subscription'], data, options);
    },
    deleteDiscount: (id, options) => ask('DELETE', ['customers', id, 'discount'], {}, options),
  },
  Coupons: resource('coupons', ['create', 'retrieve', 'del', 'list']),
  Events: resource('events', ['retrieve', 'list']),
  InvoiceItems: resource('invoiceitems', everything),
  Invoices: {
    ...resource('invoices', ['create', 'retrieve', 'update', 'list']),
    pay: (id, options) => ask('POST', ['invoices', id, 'pay'], {}, options),
  },
  Plans: resource('plans', everything),
  Tokens: resource('tokens', ['create', 'retrieve']),
};
