'use strict';
// `require('mailgun')` as on hosted Parse: Mailgun.initialize(domain, key), Mailgun.sendEmail(message, callbacks).
// Mails go through the shop's mail service, and the key is ignored. With an account of the code's own, requests go to
// Mailgun.
const { HTTPResponse } = require('../http/http-response');
const { sendMail } = require('../parse/mail');
const { promised } = require('../parse/promise');
const { settings } = require('../settings');
const { sendForm } = require('./form');

const STANDARD_URL = 'https://api.mailgun.net';
/** The only message header that the mail service supports; it refuses others by name. */
const REPLY_TO = 'h:reply-to';
/** HTTP statuses of refusals, as at Mailgun: too many mails, and an invalid message. */
const STATUS_OF_CODE = { 155: 429, 142: 400 };
let account;

function respond(status, data) {
  return new HTTPResponse(status, { 'content-type': 'application/json' }, Buffer.from(JSON.stringify(data)));
}

/** Converts Mailgun's message to the mail service's form. Mailgun's form has texts only, so numbers become texts. */
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

  /** Callbacks and promise get the response, also when the mail is refused. */
  sendEmail(message, options) {
    return promised(async () => {
      if (!account) throw new Error('Mailgun.initialize(domain, key) comes first.');
      return settings.config.providers === 'own' ? sendByCode(message) : sendByShop(message);
    }, options || {});
  },
};
