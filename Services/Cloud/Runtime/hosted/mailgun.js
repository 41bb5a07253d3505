'use strict';
// `require('mailgun')` as hosted Parse had it: Mailgun.initialize(domain, key), Mailgun.sendEmail(message, callbacks).
// Mails go the way of the shop's own, and the key says nothing; with an account of the code's it speaks to Mailgun.
const { HTTPResponse } = require('../http/http-response');
const { sendMail } = require('../parse/mail');
const { promised } = require('../parse/promise');
const { settings } = require('../settings');
const { sendForm } = require('./form');

const STANDARD_URL = 'https://api.mailgun.net';
/** Of the headers that a message may set, the one that the mail service has; others it refuses by name. */
const REPLY_TO = 'h:reply-to';
/** Statuses of refusals, as Mailgun has them: too many, and everything that is wrong with the message. */
const STATUS_OF_CODE = { 155: 429, 142: 400 };
let account;

function respond(status, data) {
  return new HTTPResponse(status, { 'content-type': 'application/json' }, Buffer.from(JSON.stringify(data)));
}

/** A message of Mailgun's as the mail service takes it. A form had texts alone, so that numbers were texts. */
function shopMail(message) {
  return Object.fromEntries(Object.entries(message || {}).map(([key, value]) => {
    const text = typeof value === 'number' || typeof value === 'boolean' ? String(value) : value;
    return [key.toLowerCase() === REPLY_TO ? 'replyTo' : key, text];
  }));
}

async function sendByShop(message) {
  try {
    const { mails } = await sendMail(shopMail(message));
    return respond(200, { id: `<${mails[0].messageId}>`, message: 'Queued. Thank you.' });
  } catch (error) {
    throw respond(STATUS_OF_CODE[error.code] || 500, { message: error.message });
  }
}

function sendByCode(message) {
  const url = `${settings.config.mailgunURL || STANDARD_URL}/v3/${encodeURIComponent(account.domain)}/messages`;
  return sendForm('POST', url, message, ['api', account.key], { brackets: false });
}

module.exports = {
  initialize(domain, key) {
    account = { domain, key };
    return module.exports;
  },

  /** Callbacks and promise get the response, or the one that refuses. */
  sendEmail(message, options) {
    return promised(async () => {
      if (!account) throw new Error('Mailgun.initialize(domain, key) comes first.');
      return settings.config.providers === 'own' ? sendByCode(message) : sendByShop(message);
    }, options || {});
  },
};
