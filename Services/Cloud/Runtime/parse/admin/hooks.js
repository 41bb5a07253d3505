'use strict';
// Parse.Hooks: the webhooks of other hosts. Every request uses the master key.
const { ParseError } = require('../error');
const { promised } = require('../promise');
const { answerOf } = require('../rest');

const functionPath = (...names) => `/hooks/functions${names.map((name) => `/${encodeURIComponent(name)}`).join('')}`;
const triggerPath = (...names) => `/hooks/triggers${names.map((name) => `/${encodeURIComponent(name)}`).join('')}`;

/** The path of one hook. Throws when neither a function nor a trigger is named. */
function pathOf({ functionName, className, triggerName }) {
  if (functionName) return functionPath(functionName);
  if (className && triggerName) return triggerPath(className, triggerName);
  throw new ParseError(143, 'invalid hook declaration');
}

const Hooks = {
  getFunctions: () => Hooks.sendRequest('GET', functionPath()),
  getTriggers: () => Hooks.sendRequest('GET', triggerPath()),
  getFunction: (name) => Hooks.sendRequest('GET', functionPath(name)),
  getTrigger: (className, triggerName) => Hooks.sendRequest('GET', triggerPath(className, triggerName)),

  createFunction: (functionName, url) => Hooks.create({ functionName, url }),
  createTrigger: (className, triggerName, url) => Hooks.create({ className, triggerName, url }),
  create: (hook) => promised(async () => {
    pathOf(hook);
    return Hooks.sendRequest('POST', hook.functionName ? functionPath() : triggerPath(), hook);
  }),

  updateFunction: (functionName, url) => Hooks.update({ functionName, url }),
  updateTrigger: (className, triggerName, url) => Hooks.update({ className, triggerName, url }),
  update: (hook) => promised(async () => Hooks.sendRequest('PUT', pathOf(hook), { url: hook.url })),

  removeFunction: (functionName) => Hooks.remove({ functionName }),
  removeTrigger: (className, triggerName) => Hooks.remove({ className, triggerName }),
  remove: (hook) => promised(async () => Hooks.sendRequest('PUT', pathOf(hook), { __op: 'Delete' })),

  sendRequest: (method, path, body = {}) => promised(answerOf(method, path, body, { useMasterKey: true })),
};

module.exports = { Hooks };
