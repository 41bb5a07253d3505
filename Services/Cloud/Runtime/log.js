'use strict';
// console.* and request.log: sends lines to the host's log, with their run.
const util = require('node:util');
const { send } = require('./host');
const { currentRun } = require('./scope');

/** The longest text of one line, in characters: a log is not meant for whole objects. */
const TEXT_MAX = 16 * 1024;
const LEVELS = new Set(['log', 'info', 'warn', 'error', 'debug']);
const OTHER_NAMES = { warning: 'warn', verbose: 'debug', silly: 'debug', trace: 'debug' };

/** The level of a name in any letter case. */
function levelOf(name) {
  const level = String(name).toLowerCase();
  return LEVELS.has(level) ? level : OTHER_NAMES[level] || 'info';
}

/** Sends a log line of the given run, by default the current one. */
function line(level, text, run = currentRun()) {
  const shown = run ? run.redacted(text) : text;
  const more = shown.length - TEXT_MAX;
  const cut = more > 0 ? `${shown.slice(0, TEXT_MAX)}… (${more} characters more)` : shown;
  send({ t: 'log', run: run ? run.id : null, level: LEVELS.has(level) ? level : 'info', text: cut });
}

function writer(level) {
  return (...values) => line(level, util.format(...values));
}

/** The `log` of requests, with Parse Server's levels. */
const logger = Object.freeze({
  log: (level, ...values) => line(levelOf(level), util.format(...values)),
  info: writer('info'), warn: writer('warn'), error: writer('error'),
  debug: writer('debug'), verbose: writer('debug'), silly: writer('debug'),
});

/** Redirects the global console to the host's log. */
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
