'use strict';
// console.* and request.log: lines for the host's log, with the run they belong to.
const util = require('node:util');
const { send } = require('./host');
const { currentRun } = require('./scope');

/** The longest text of one line, in characters: a log is no place for whole objects. */
const TEXT_MAX = 16 * 1024;
const LEVELS = new Set(['log', 'info', 'warn', 'error', 'debug']);

/** Sends a line of the current run, or of the one that is given. */
function line(level, text, run = currentRun()) {
  const more = text.length - TEXT_MAX;
  const cut = more > 0 ? `${text.slice(0, TEXT_MAX)}… (${more} characters more)` : text;
  send({ t: 'log', run: run ? run.id : null, level: LEVELS.has(level) ? level : 'info', text: cut });
}

function writer(level) {
  return (...values) => line(level, util.format(...values));
}

/** The `log` of requests, with the levels that Parse Server's has. */
const logger = Object.freeze({
  log: (level, ...values) => line(LEVELS.has(level) ? level : 'info', util.format(...values)),
  info: writer('info'), warn: writer('warn'), error: writer('error'),
  debug: writer('debug'), verbose: writer('debug'), silly: writer('debug'),
});

/** Makes the global console write into the host's log. */
function captureConsole() {
  for (const level of LEVELS) console[level] = writer(level);
  console.trace = (...values) => {
    const trace = new Error(util.format(...values));
    trace.name = 'Trace';
    line('debug', trace.stack);
  };
  console.dir = (value, options) => line('log', util.inspect(value, options));
}

module.exports = { captureConsole, line, logger };
