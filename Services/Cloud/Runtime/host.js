'use strict';
// The connection to the host: sends frames, and matches requests with their answers.
const { encodeFrame, FrameTooLarge } = require('./frames');
const { currentRun } = require('./scope');
const { ParseError } = require('./parse/error');

let write = () => {};
let nextAsk = 1;
const waiting = new Map();

/** Sets the function that writes frames. */
function attach(writer) {
  write = writer;
}

/** Sends a frame. Throws FrameTooLarge. */
function send(frame) {
  write(encodeFrame(frame));
}

/**
 * Sends a REST request to the host on behalf of the current run.
 * @param request `{ method, path, query, body, auth, context }`
 * @returns a promise of `{ status, body, headers }`; rejects with a Parse.Error for a status of 400 and more.
 */
function ask(request) {
  const run = currentRun();
  if (run && run.cancelled) {
    return Promise.reject(new ParseError(ParseError.TIMEOUT, 'The call was ended; it can make no more requests.'));
  }
  const number = nextAsk++;
  return new Promise((resolve, reject) => {
    try {
      send({ t: 'ask', ask: number, run: run ? run.id : null, ...request });
    } catch (error) {
      reject(error instanceof FrameTooLarge ? new ParseError(ParseError.OBJECT_TOO_LARGE, error.message) : error);
      return;
    }
    waiting.set(number, { resolve, reject });
  });
}

/** Delivers an answer to the waiting request. False when there is none. */
function answered(frame) {
  const asker = waiting.get(frame.ask);
  if (!asker) return false;
  waiting.delete(frame.ask);
  const status = frame.status || 200;
  if (status >= 400) asker.reject(errorOf(status, frame.body));
  else asker.resolve({ status, body: frame.body === undefined ? {} : frame.body, headers: frame.headers || {} });
  return true;
}

function errorOf(status, body) {
  const said = body && typeof body === 'object' ? body : {};
  const byStatus = status >= 500 ? ParseError.INTERNAL_SERVER_ERROR : ParseError.OTHER_CAUSE;
  const code = Number.isInteger(said.code) ? said.code : status === 403 ? ParseError.OPERATION_FORBIDDEN : byStatus;
  return new ParseError(code, said.error || said.message || `The server answered with status ${status}.`);
}

module.exports = { attach, send, ask, answered };
