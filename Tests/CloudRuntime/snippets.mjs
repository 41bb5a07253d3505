// Runs tables of cloud code: each row is a main.js, what the host runs, what the code asks for and how it ends.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeHost } from './fake-host.mjs';

/** A run of the function that a snippet defines as `f`. */
export const call = (params = {}, request = {}) => ({ kind: 'function', name: 'f', params, request });

/** A run of a trigger of the class Item. */
export const trigger = (name, frame = {}) => ({ kind: 'trigger', trigger: name, className: 'Item', ...frame });

/** A function `f` with this body, as modern code has it. */
export const modern = (body) => `Parse.Cloud.define('f', async (request) => {\n${body}\n});`;

/** A function `f` with this body, as hosted Parse's code has it. */
export const hosted = (body) => `Parse.Cloud.define('f', function (request, response) {\n${body}\n});`;

/**
 * Each row has
 * - code: main.js, or files by path; config: the settings of the load frame
 * - run: the frame without its id; several when it is an array, of which the last one's end counts
 * - answers: what asks get; expectedAsks: what was asked, in order, each with the members that matter
 * - expected: `{ result }`, or `{ error: { code, message } }`; logs: `[level, text]` of lines that must be there
 */
export function snippets(title, rows) {
  test(title, { concurrency: 2 }, async (suite) => {
    await Promise.all(rows.map((row) => suite.test(row.name, () => check(row))));
  });
}

async function check(row) {
  const host = await FakeHost.start(row.code, { answers: structured(row.answers), config: row.config });
  try {
    assert.equal(host.loaded.error, null, host.loaded.error && host.loaded.error.stack);
    let outcome;
    for (const frame of [].concat(row.run)) outcome = await host.run(frame);
    assert.deepEqual(host.unanswered, [], 'every ask has an answer');
    checkOutcome(outcome, row.expected);
    if (row.expectedAsks) checkAsks(host.asks, row.expectedAsks);
    for (const [level, text] of row.logs || []) {
      const lines = host.logs().filter((line) => line.level === level).map((line) => line.text);
      const all = JSON.stringify(host.logs());
      assert.ok(lines.some((line) => line.includes(text)), `no ${level} line has “${text}”: ${all}`);
    }
  } finally {
    await host.stop();
  }
}

/** Arrays of answers are used up: each run has its own. */
function structured(answers = {}) {
  const copies = Object.entries(answers).map(([key, value]) => [key, Array.isArray(value) ? [...value] : value]);
  return Object.fromEntries(copies);
}

function checkOutcome(outcome, expected) {
  if (expected.error) {
    assert.equal(outcome.t, 'failed', `it succeeded: ${JSON.stringify(outcome.result)}`);
    const { code, message } = outcome.error;
    if (expected.error.message instanceof RegExp) {
      assert.equal(code, expected.error.code);
      assert.match(message, expected.error.message);
    } else {
      assert.deepEqual({ code, message }, expected.error);
    }
    return;
  }
  assert.equal(outcome.t, 'done', `it failed: ${JSON.stringify(outcome.error)}`);
  assert.deepEqual(outcome.result, expected.result);
}

function checkAsks(asks, expected) {
  const shown = asks.map((ask, index) => {
    const members = Object.keys(expected[index] || ask);
    return Object.fromEntries(members.map((key) => [key, part(ask[key], (expected[index] || {})[key], key)]));
  });
  assert.deepEqual(shown, expected);
}

/** Of rights, those that the row names; of the rest, everything. */
function part(value, expected, key) {
  if (key !== 'auth' || !expected) return value;
  return Object.fromEntries(Object.keys(expected).map((name) => [name, value[name]]));
}
