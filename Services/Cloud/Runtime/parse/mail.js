'use strict';
// Mails of the code, by way of the shop's mail service.
const { answerOf } = require('./rest');

/**
 * Queues a mail to each recipient, or none. The code is the server's own: it needs no rights of the caller's.
 * @param message `{ to, subject, text, html, from, replyTo }`
 * @returns a promise of `{ mails: [{ id, messageId }] }`
 */
async function sendMail(message) {
  const parameters = message && typeof message === 'object' ? message : {};
  return (await answerOf('POST', '/functions/sendShopMail', parameters, { useMasterKey: true })).result;
}

module.exports = { sendMail };
