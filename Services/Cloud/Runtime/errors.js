'use strict';
// What a handler threw or rejected with, as an error of the protocol.
const { ParseError, textOf } = require('./parse/error');
const { sdk } = require('./sdk/current');

/** The longest stack that is sent, in characters. */
const STACK_MAX = 8 * 1024;

/**
 * A Parse.Error of anything: errors of the protocol stay, everything else gets the code that is given.
 * @param byDefault `{ code, message }` for what says nothing of itself
 */
function resolved(thrown, { code = ParseError.SCRIPT_FAILED, message = 'Script failed.' } = {}) {
  if (thrown instanceof ParseError) return thrown;
  if (sdk().isError(thrown)) return ofPackage(thrown);
  const isEmpty = thrown === undefined || thrown === null || thrown === '' || thrown === false;
  const said = isEmpty ? message : textOf(thrown.message || thrown);
  const error = new ParseError(code, said);
  if (thrown instanceof Error) error.stack = thrown.stack;
  return error;
}

/** An error of the folder's own SDK. */
function ofPackage({ code, message, stack }) {
  const error = new ParseError(code, message);
  if (stack) error.stack = stack;
  return error;
}

/** The error as the host is told of it. */
function wireError(error) {
  const code = Number.isInteger(error.code) ? error.code : ParseError.SCRIPT_FAILED;
  return { code, message: textOf(error.message), stack: String(error.stack || '').slice(0, STACK_MAX) };
}

/** What response.error() was given: a text, an error, or a code and a text. */
function ofResponse(values) {
  const [first, second] = values;
  if (values.length < 2 || second === undefined) return resolved(first);
  return new ParseError(Number.isInteger(first) ? first : ParseError.SCRIPT_FAILED, second);
}

module.exports = { ofResponse, resolved, wireError };
