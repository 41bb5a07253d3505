'use strict';
// `require('mailgun')` as hosted Parse had it: Mailgun.initialize(domain, key), Mailgun.sendEmail(message, callbacks).
// It speaks to Mailgun itself, with the key that the code names; the suite's own mail knows nothing of it.
const { promised } = require('../parse/promise');
const { settings } = require('../settings');
const { sendForm } = require('./form');

const STANDARD_URL = 'https://api.mailgun.net';
let account;

module.exports = {
  initialize(domain, key) {
    account = { domain, key };
  },

  /** Callbacks and promise get the response, or the one that refuses. */
  sendEmail(message, options) {
    return promised(async () => {
      if (!account) throw new Error('Mailgun.initialize(domain, key) comes first.');
      const base = settings.config.mailgunURL || STANDARD_URL;
      const url = `${base}/v3/${encodeURIComponent(account.domain)}/messages`;
      return sendForm('POST', url, message, ['api', account.key], { brackets: false });
    }, options || {});
  },
};
