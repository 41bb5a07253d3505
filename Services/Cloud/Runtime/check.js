'use strict';
// Loads the code of a folder without a host and says what it defines, or why it cannot be loaded: node check.js FOLDER
const path = require('node:path');
const { load } = require('./loader');
const { summary } = require('./registry');

const folder = path.resolve(process.argv[2] || '.');
let settled = false;
/** The status with which Node ends when a module waits for what never comes. */
const UNSETTLED = 13;

function finish(code, text) {
  settled = true;
  (code ? process.stderr : process.stdout).write(`${text}\n`, () => process.exit(code));
}

const counted = (count, one) => `${count} ${one}${count === 1 ? '' : 's'}`;

// Code that waits for data while it is loaded finds none here. That is no fault of its own.
process.on('exit', (code) => {
  if (settled || (code !== 0 && code !== UNSETTLED)) return;
  process.exitCode = 0;
  process.stdout.write('main.js waits for something while it is loaded, so that it was checked in part only.\n');
});

load({ folder, applicationId: 'check', serverURL: 'http://127.0.0.1:1337/parse', config: {} }).then(() => {
  const { functions, jobs, triggers } = summary();
  finish(0, [
    counted(functions.length, 'function'), counted(triggers.length, 'trigger'), counted(jobs.length, 'job'),
  ].join(', '));
}, (thrown) => finish(1, thrown instanceof Error ? thrown.stack : String(thrown)));
