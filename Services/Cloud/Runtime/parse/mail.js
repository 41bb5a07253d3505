'use strict';
// Mails of the code, sent through the shop's mail service.
const { answerOf } = require('./rest');

/** The content of an attachment as base64: bytes, or a text, which is already base64 if its encoding says so. */
function base64Of(content, encoding) {
  if (typeof content === 'string' && encoding === 'base64') return content;
  return Buffer.from(content).toString('base64');
}

/**
 * An attachment in the mail service's form; undefined when it has no content. Mail modules name its members
 * differently.
 */
function attachmentOf(value) {
  const content = value && (value.base64 || value.content || value.data);
  if (!(typeof content === 'string' || content instanceof Uint8Array)) return undefined;
  return {
    name: value.name || value.filename,
    contentType: value.contentType || value.type,
    base64: base64Of(content, value.base64 ? 'base64' : value.encoding),
  };
}

/**
 * The message with its files as `attachments`. An attachment without content is passed on, and the mail service refuses
 * it.
 */
function withAttachments({ attachment, attachments = attachment, ...message }) {
  if (attachments === undefined || attachments === null) return message;
  const files = [attachments].flat().map(attachmentOf);
  if (!files.includes(undefined)) return { ...message, attachments: files };
  return attachment === undefined ? { ...message, attachments } : { ...message, attachment };
}

/**
 * Queues a mail to each recipient, or none. Code runs with the server's authority and needs no rights of the caller.
 * @param message `{ to, cc, bcc, subject, text, html, from, replyTo, attachments }`
 * @returns a promise of `{ mails: [{ id, messageId }] }`
 */
async function sendMail(message) {
  const parameters = withAttachments(message && typeof message === 'object' ? message : {});
  return (await answerOf('POST', '/functions/sendShopMail', parameters, { useMasterKey: true })).result;
}

module.exports = { sendMail };
