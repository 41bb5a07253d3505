'use strict';
// The validators of functions and triggers: a function, or an object of rules as in Parse Server.
const { resolved } = require('./errors');
const { ParseError } = require('./parse/error');
const { Query } = require('./parse/queries/query');

/** Runs a validator; throws a Parse.Error, with code VALIDATION_ERROR (142) unless the validator sets another. */
async function validate(validator, request) {
  if (!validator) return;
  try {
    if (typeof validator === 'function') {
      // Parse Server up to version 3 refused any result that is not true; later versions refuse only exceptions. False
      // refuses in both.
      if ((await validator(request)) === false) throw undefined;
    } else {
      await checkRules(validator, request);
    }
  } catch (error) {
    throw resolved(error, { code: ParseError.VALIDATION_ERROR, message: 'Validation failed.' });
  }
}

/** Whether the handler of a trigger is skipped, because the rules say so for the master key. */
function isSkipped(validator, request) {
  return !!(validator && typeof validator === 'object' && validator.skipWithMasterKey && request.master);
}

async function checkRules(rules, request) {
  if (request.master && !rules.validateMasterKey) return;
  const user = request.user || newUser(request);
  if ((rules.requireUser || rules.requireAnyUserRoles || rules.requireAllUserRoles) && !user) {
    throw 'Validation failed. Please login to continue.';
  }
  if (rules.requireMaster && !request.master) {
    throw 'Validation failed. Master key is required to complete this request.';
  }
  await checkFields(rules.fields, request);
  await checkRoles(rules, user);
  await checkUserKeys(rules.requireUserKeys, user);
}

/** A user that is signing up replaces the missing current user. */
function newUser({ object }) {
  return object && object.className === '_User' && !object.existed() ? object : undefined;
}

/** The fields of an object, including a new password, which its JSON never contains. */
function fieldsOf(object) {
  const password = object.get('password');
  return { ...object.toJSON(), ...(password === undefined ? {} : { password }) };
}

async function checkFields(fields, request) {
  const values = request.object ? fieldsOf(request.object) : request.params || {};
  const required = (key) => {
    if (values[key] === undefined || values[key] === null) {
      throw `Validation failed. Please specify data for ${key}.`;
    }
  };
  if (Array.isArray(fields)) {
    fields.forEach(required);
    return;
  }
  const choices = [];
  for (const [key, rule] of Object.entries(fields || {})) {
    if (typeof rule === 'string') required(rule);
    if (rule === null || typeof rule !== 'object') continue;
    setByRule(key, rule, request, values);
    if (rule.required) required(key);
    if (!rule.required && values[key] === undefined) continue;
    checkType(key, rule.type, values[key]);
    if (rule.options) choices.push(checkOptions(key, rule, values[key]));
  }
  await Promise.all(choices);
}

/** Applies defaults and constants: a constant field keeps its stored value, or starts with the default. */
function setByRule(key, rule, { object, original }, values) {
  const hasDefault = rule.default !== undefined && rule.default !== null;
  if (hasDefault && (values[key] === undefined || values[key] === null)) {
    values[key] = rule.default;
    if (object) object.set(key, rule.default);
  }
  if (!rule.constant || !object) return;
  if (original) object.revert(key);
  else if (hasDefault) object.set(key, rule.default);
}

function checkType(key, type, value) {
  if (!type) return;
  const expected = String(type.name || type).toLowerCase();
  const actual = Array.isArray(value) ? 'array' : typeof value;
  if (actual === expected || (typeof type === 'function' && value instanceof type)) return;
  throw `Validation failed. Invalid type for ${key}. Expected: ${expected}`;
}

/** Checks a value against one value, a list of values, or a function. */
async function checkOptions(key, { options, error }, value) {
  if (typeof options === 'function') {
    const invalid = error || `Validation failed. Invalid value for ${key}.`;
    let result;
    try {
      result = await options(value);
    } catch (thrown) {
      throw error || (thrown && thrown.message) || thrown || invalid;
    }
    if (!result && result !== undefined && result !== null) throw invalid;
    return;
  }
  const allowed = [].concat(options);
  if (!allowed.includes(value)) {
    throw error || `Validation failed. Invalid option for ${key}. Expected: ${allowed.join(', ')}`;
  }
}

async function checkRoles({ requireAnyUserRoles, requireAllUserRoles }, user) {
  if (!requireAnyUserRoles && !requireAllUserRoles) return;
  const named = async (roles) => (typeof roles === 'function' ? roles() : roles);
  const [any, all, held] = await Promise.all([named(requireAnyUserRoles), named(requireAllUserRoles), rolesOf(user)]);
  if (any && !any.some((role) => held.has(role))) throw 'Validation failed. User does not match the required roles.';
  if (all && !all.every((role) => held.has(role))) {
    throw 'Validation failed. User does not match all the required roles.';
  }
}

/** The names of a user's roles, including inherited ones. */
async function rolesOf(user) {
  const names = new Set();
  if (!user || !user.id) return names;
  const master = { useMasterKey: true };
  // The user may be of any SDK.
  const pointer = { __type: 'Pointer', className: '_User', objectId: user.id };
  let found = await new Query('_Role').equalTo('users', pointer).findAll(master);
  while (found.length) {
    const fresh = found.filter((role) => !names.has(role.get('name')));
    fresh.forEach((role) => names.add(role.get('name')));
    found = fresh.length ? await new Query('_Role').containedIn('roles', fresh).findAll(master) : [];
  }
  return names;
}

const isMissing = (value) => value === undefined || value === null;
const accountLacks = (key) => `Validation failed. Please set data for ${key} on your account.`;

async function checkUserKeys(keys, user) {
  if (Array.isArray(keys)) {
    for (const key of keys) {
      if (!user) throw 'Please login to make this request.';
      if (isMissing(user.get(key))) throw accountLacks(key);
    }
    return;
  }
  await Promise.all(Object.entries(keys || {}).map(async ([key, rule]) => {
    if (!user) throw 'Please login to make this request.';
    const value = user.get(key);
    if (isMissing(value) && rule.required) throw accountLacks(key);
    if (!isMissing(value)) checkType(key, rule.type, value);
    if (rule.options) await checkOptions(key, rule, value);
  }));
}

module.exports = { isSkipped, validate };
