'use strict';
// Parameters of functions and jobs, in the form for code.
const { sdk } = require('./sdk/current');

/**
 * Plain JSON in which dates, files, pointers and other typed values are the SDK's. Operations remain plain JSON, as in
 * Parse Server. Code written for Parse Server reads `objectId` of pointers and `iso` of dates, which were plain JSON
 * there. Both properties exist here, but are not enumerable.
 */
function decodeParams(json) {
  const holders = new Set();
  noteOperators(json, holders);
  return decoded(json, holders);
}

/** Collects the values that contain an operation, because the SDK would decode it. */
function noteOperators(json, holders) {
  if (json === null || typeof json !== 'object') return false;
  let holds = typeof json.__op === 'string';
  const members = Array.isArray(json) ? json : Object.values(json);
  for (const member of members) if (noteOperators(member, holders)) holds = true;
  if (holds) holders.add(json);
  return holds;
}

function decoded(json, holders) {
  if (json === null || typeof json !== 'object') return json;
  if (Array.isArray(json)) return json.map((element) => decoded(element, holders));
  if (json.__type && !holders.has(json)) return withPlainMembers(json, sdk().decode(json));
  const members = {};
  for (const key of Object.keys(json)) if (key !== '__proto__') members[key] = decoded(json[key], holders);
  return members;
}

function withPlainMembers(json, value) {
  const add = (name) => Object.defineProperty(value, name, { value: json[name], writable: true, configurable: true });
  if (value instanceof sdk().Parse.Object) {
    add('objectId');
    add('__type');
  } else if (value instanceof Date) {
    add('iso');
    add('__type');
  }
  return value;
}

module.exports = { decodeParams };
