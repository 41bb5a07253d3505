'use strict';
// The rules of validators. They are checked when the code is loaded: a misspelled rule would otherwise admit every
// caller.

const isObject = (value) => value !== null && typeof value === 'object' && !Array.isArray(value);
const isName = (value) => typeof value === 'string' && value !== '';
const areNames = (value) => Array.isArray(value) && value.every(isName);
const isWhole = (max) => (value) => Number.isInteger(value) && value >= 1 && value <= max;

const FLAG = { must: 'true or false', holds: (value) => typeof value === 'boolean' };
const TEXT = { must: 'a text', holds: (value) => typeof value === 'string' };
const ROLES = {
  must: 'a list of names or a function', holds: (value) => areNames(value) || typeof value === 'function',
};
const FIELDS = { must: 'a list of names or an object', holds: (value) => areNames(value) || isObject(value) };
const TYPE = { must: 'a class or its name', holds: (value) => typeof value === 'function' || isName(value) };
const GIVEN = { must: 'given', holds: (value) => value !== undefined };
const ANYTHING = { must: 'anything', holds: () => true };

const RULES = {
  requireUser: FLAG, requireMaster: FLAG, requireAnyUserRoles: ROLES, requireAllUserRoles: ROLES,
  requireUserKeys: FIELDS, fields: FIELDS, validateMasterKey: FLAG, skipWithMasterKey: FLAG,
  rateLimit: { must: 'an object', holds: isObject },
};
const FIELD_RULES = {
  type: TYPE, required: FLAG, default: ANYTHING, constant: FLAG, options: GIVEN, error: TEXT,
};
const USER_KEY_RULES = { type: TYPE, required: FLAG, options: GIVEN, error: TEXT };

/** One day in milliseconds: counts are in memory, and longer windows would have to survive a restart. */
const WINDOW_MAX = 86_400_000;
const METHODS = ['GET', 'POST', 'PUT', 'DELETE'];
const ZONES = ['ip', 'user', 'session', 'global'];
const RATE_LIMIT_RULES = {
  requestTimeWindow: { must: `milliseconds from 1 to ${WINDOW_MAX}`, holds: isWhole(WINDOW_MAX) },
  requestCount: { must: 'a whole number from 1 to 100000', holds: isWhole(100_000) },
  errorResponseMessage: TEXT,
  requestMethods: {
    must: `some of ${METHODS.join(', ')}`,
    holds: (value) => [].concat(value).every((method) => METHODS.includes(method)),
  },
  includeMasterKey: FLAG,
  includeInternalRequests: FLAG,
  zone: { must: `one of ${ZONES.join(', ')}`, holds: (value) => ZONES.includes(value) },
};

/**
 * Throws a TypeError for an unknown rule or a value of the wrong type.
 * @param owner names the validator, such as "The validator of the cloud function price"
 */
function checkValidator(validator, owner) {
  if (!validator || typeof validator === 'function') return;
  checkRules(validator, RULES, owner);
  if (isObject(validator.fields)) {
    for (const [name, rules] of Object.entries(validator.fields)) {
      // A string is the name of a required field.
      if (!isName(rules)) checkRules(rules, FIELD_RULES, owner, `fields.${name}`);
    }
  }
  if (isObject(validator.requireUserKeys)) {
    for (const [name, rules] of Object.entries(validator.requireUserKeys)) {
      checkRules(rules, USER_KEY_RULES, owner, `requireUserKeys.${name}`);
    }
  }
  if (!validator.rateLimit) return;
  checkRules(validator.rateLimit, RATE_LIMIT_RULES, owner, 'rateLimit');
  for (const name of ['requestTimeWindow', 'requestCount']) {
    if (validator.rateLimit[name] === undefined) throw new TypeError(`${owner} lacks the rule rateLimit.${name}.`);
  }
}

function checkRules(rules, known, owner, path = '') {
  if (!isObject(rules)) throw new TypeError(`${owner}: ${path || 'it'} must be an object of rules.`);
  for (const name in rules) {
    const full = path ? `${path}.${name}` : name;
    if (!Object.prototype.hasOwnProperty.call(known, name)) {
      throw new TypeError(`${owner} has the unknown rule ${full}; known are ${Object.keys(known).join(', ')}.`);
    }
    if (!known[name].holds(rules[name])) throw new TypeError(`${owner}: ${full} must be ${known[name].must}.`);
  }
}

/** A validator's rate limit in the host's form; undefined without one. */
function rateLimitOf(validator) {
  const limit = validator && validator.rateLimit;
  if (!limit) return undefined;
  return {
    window: limit.requestTimeWindow,
    count: limit.requestCount,
    message: limit.errorResponseMessage || 'Too many requests.',
    methods: limit.requestMethods === undefined ? [] : [].concat(limit.requestMethods),
    zone: limit.zone || 'ip',
    includesMaster: !!limit.includeMasterKey,
    includesInternal: !!limit.includeInternalRequests,
  };
}

module.exports = { checkValidator, rateLimitOf };
