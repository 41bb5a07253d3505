// The check that `scripts/cloud deploy` runs before it accepts a version.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const script = fileURLToPath(new URL('../../../Services/Cloud/Runtime/check.js', import.meta.url));

const rows = [
  [
    'code that loads', "Parse.Cloud.define('f', () => 1); Parse.Cloud.afterSave('A', () => {});", 0,
    /1 function, 1 trigger, 0 jobs/,
  ],
  ['code that throws', "throw new Error('half done');", 1, /half done[^]*main\.js:1/],
  ['code that is none', 'this is no code(', 1, /SyntaxError/],
  ['code that waits for data', "module.exports = new Parse.Query('A').find();", 0, /only a part of it was checked/],
];

test('functions that Satchel has are named as unused', () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'check-'));
  try {
    fs.writeFileSync(path.join(folder, 'main.js'), "['checkout', 'Charge', 'f'].forEach((f) => Parse.Cloud.define(f, () => 1));");
    const own = fileURLToPath(new URL('../../../Services/Gateway/Resources/OpenAPI/functions.json', import.meta.url));
    const { stdout } = spawnSync(process.execPath, [script, folder, own], { encoding: 'utf8' });
    assert.match(stdout, /^3 functions.*\nNot used: checkout\. .*SATCHEL_CLOUD_REPLACES_FUNCTIONS=true/);
    assert.doesNotMatch(spawnSync(process.execPath, [script, folder], { encoding: 'utf8' }).stdout, /Not used/);
  } finally {
    fs.rmSync(folder, { recursive: true });
  }
});

for (const [name, code, status, output] of rows) {
  test(`the check of ${name}`, () => {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'check-'));
    try {
      fs.writeFileSync(path.join(folder, 'main.js'), code);
      const ended = spawnSync(process.execPath, [script, folder], { encoding: 'utf8' });
      assert.equal(ended.status, status, ended.stderr);
      assert.match(ended.stdout + ended.stderr, output);
    } finally {
      fs.rmSync(folder, { recursive: true });
    }
  });
}
