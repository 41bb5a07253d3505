// Runs tables of cloud code: each row contains a main.js, the runs by the host, the code's requests, and the result.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeHost } from './fake-host.mjs';

/** A run of the function that a snippet defines as `f`. */
export const call = (params = {}, request = {}) => ({ kind: 'function', name: 'f', params, request });

/** A run of a trigger of the class Item. */
export const trigger = (name, frame = {}) => ({ kind: 'trigger', trigger: name, className: 'Item', ...frame });

/** A function `f` with this body, in modern style. */
export const modern = (body) => `Parse.Cloud.define('f', async (request) => {\n${body}\n});`;

/** A function `f` with this body, in hosted Parse's style. */
export const hosted = (body) => `Parse.Cloud.define('f', function (request, response) {\n${body}\n});`;

/**
 * Each row has
 * - code: main.js, or files by path; config: the settings of the load frame
 * - run: the frame without its id; for an array of frames, the end of the last one counts
 * - answers: the answers to the code's requests; expectedAsks: the expected requests in order, with compared members
 * - expected: `{ result }`, or `{ error: { code, message } }`; logs: `[level, text]` of required lines; unseen:
 *   texts that no frame to the host may contain
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
    for (const text of row.unseen || []) assert.ok(!JSON.stringify(host.frames).includes(text), `a frame has ${text}`);
  } finally {
    await host.stop();
  }
}

/** Copies arrays of answers for each run, because a run consumes them. */
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

/** For rights, the members that the row names; for everything else, all members. */
function part(value, expected, key) {
  if (key !== 'auth' || !expected) return value;
  return Object.fromEntries(Object.keys(expected).map((name) => [name, value[name]]));
}
