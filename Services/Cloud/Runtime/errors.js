'use strict';
// Converts a value that a handler threw or rejected with to an error of the protocol.
const { ParseError, textOf } = require('./parse/error');
const { sdk } = require('./sdk/current');

/** The longest stack that is sent, in characters. */
const STACK_MAX = 8 * 1024;

/**
 * A Parse.Error for any value: errors of the protocol are unchanged, all others get the given code.
 * @param byDefault `{ code, message }` for a value without a message
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

/** The error of a run in the form that the host expects. */
function wireError(error, run) {
  const code = Number.isInteger(error.code) ? error.code : ParseError.SCRIPT_FAILED;
  const stack = run.redacted(String(error.stack || '')).slice(0, STACK_MAX);
  return { code, message: run.redacted(textOf(error.message)), stack };
}

/** The error for the arguments of response.error(): a text, an error, or a code and a text. */
function ofResponse(values) {
  const [first, second] = values;
  if (values.length < 2 || second === undefined) return resolved(first);
  return new ParseError(Number.isInteger(first) ? first : ParseError.SCRIPT_FAILED, second);
}

module.exports = { ofResponse, resolved, wireError };
