'use strict';
// `require('stripe')` as hosted Parse had it: Stripe.initialize(key), Stripe.Charges.create(data, { success, error }).
// It speaks to Stripe itself, with the key that the code names; the suite's own payments know nothing of it.
const { promised } = require('../parse/promise');
const { settings } = require('../settings');
const { sendForm } = require('./form');

const STANDARD_URL = 'https://api.stripe.com';
let key;

/** An error of Stripe's as callbacks get it: its members and a message. */
function errorOf(thrown) {
  const said = thrown && thrown.data && thrown.data.error;
  if (!said) return thrown instanceof Error ? thrown : new Error('Stripe cannot be reached.');
  return Object.assign(new Error(said.message || 'Stripe refused.'), said, { httpStatus: thrown.status });
}

function ask(method, path, values, options) {
  return promised(async () => {
    if (!key) throw new Error('Stripe.initialize(key) comes first.');
    try {
      const url = `${settings.config.stripeURL || STANDARD_URL}/v1/${path}`;
      return (await sendForm(method, url, values, [key, ''])).data;
    } catch (thrown) {
      throw errorOf(thrown);
    }
  }, options || {});
}

const place = (...parts) => parts.map((part) => encodeURIComponent(part)).join('/');

const METHODS = {
  create: (path) => (data, options) => ask('POST', path, data, options),
  retrieve: (path) => (id, options) => ask('GET', `${path}/${place(id)}`, {}, options),
  update: (path) => (id, data, options) => ask('POST', `${path}/${place(id)}`, data, options),
  del: (path) => (id, options) => ask('DELETE', `${path}/${place(id)}`, {}, options),
  list: (path) => (data, options) => ask('GET', path, data, options),
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
    refund: (id, amount, options) => ask('POST', `${place('charges', id)}/refund`, amount ? { amount } : {}, options),
  },
  Customers: {
    ...resource('customers', everything),
    updateSubscription: (id, data, options) => ask('POST', `${place('customers', id)}/subscription`, data, options),
    cancelSubscription: (id, atPeriodEnd, options) => {
      const data = atPeriodEnd ? { at_period_end: true } : {};
      return ask('DELETE', `${place('customers', id)}/subscription`, data, options);
    },
    deleteDiscount: (id, options) => ask('DELETE', `${place('customers', id)}/discount`, {}, options),
  },
  Coupons: resource('coupons', ['create', 'retrieve', 'del', 'list']),
  Events: resource('events', ['retrieve', 'list']),
  InvoiceItems: resource('invoiceitems', everything),
  Invoices: {
    ...resource('invoices', ['create', 'retrieve', 'update', 'list']),
    pay: (id, options) => ask('POST', `${place('invoices', id)}/pay`, {}, options),
  },
  Plans: resource('plans', everything),
  Tokens: resource('tokens', ['create', 'retrieve']),
};
