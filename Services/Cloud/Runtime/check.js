'use strict';
// Loads the code of a folder without a host and prints its definitions, or why it cannot be loaded: node check.js
// FOLDER [FILE]. FILE is JSON whose members are Satchel's functions. Functions of the code with the same name are
// listed as unused.
const fs = require('node:fs');
const path = require('node:path');
const { load } = require('./loader');
const { summary } = require('./registry');

const folder = path.resolve(process.argv[2] || '.');
const own = process.argv[3] ? Object.keys(JSON.parse(fs.readFileSync(process.argv[3], 'utf8'))) : [];
let settled = false;
/** Node's exit status when a module waits for something that never happens. */
const UNSETTLED = 13;

function finish(code, text) {
  settled = true;
  (code ? process.stderr : process.stdout).write(`${text}\n`, () => process.exit(code));
}

const counted = (count, one) => `${count} ${one}${count === 1 ? '' : 's'}`;

// Code that waits for data while it is loaded gets none here. That is not an error in the code.
process.on('exit', (code) => {
  if (settled || (code !== 0 && code !== UNSETTLED)) return;
  process.exitCode = 0;
  process.stdout.write('main.js waits for something while it is loaded, so only a part of it was checked.\n');
});

load({ folder, applicationId: 'check', serverURL: 'http://127.0.0.1:1337/parse', config: {} }).then(() => {
  const { functions, jobs, triggers } = summary();
  const counts = [
    counted(functions.length, 'function'), counted(triggers.length, 'trigger'), counted(jobs.length, 'job'),
  ].join(', ');
  const unused = functions.filter((name) => own.includes(name));
  const warning = `Not used: ${unused.join(', ')}. Satchel has functions of these names; `
    + "SATCHEL_CLOUD_REPLACES_FUNCTIONS=true lets the code's win.";
  finish(0, unused.length ? `${counts}\n${warning}` : counts);
}, (thrown) => finish(1, thrown instanceof Error ? thrown.stack : String(thrown)));
