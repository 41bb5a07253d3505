'use strict';
// Runs the host's calls: every run ends with one "done" or "failed" frame, unless it was cancelled.
const { resolved, wireError } = require('./errors');
const { FrameTooLarge } = require('./frames');
const { call } = require('./handlers');
const { send } = require('./host');
const { ParseError } = require('./parse/error');
const registry = require('./registry');
const requests = require('./requests');
const results = require('./results');
const { sdk } = require('./sdk/current');
const { Run, within } = require('./scope');
const { isSkipped, validate } = require('./validator');

const open = new Map();

/** The error of a trigger that failed without a message. */
const UNKNOWN = { code: ParseError.SCRIPT_FAILED, message: 'Script failed. Unknown error.' };
/** File triggers have their own codes, as in Parse Server. */
const SAVING = { code: ParseError.FILE_SAVE_ERROR, message: 'Could not store file.' };
const DELETING = { code: ParseError.FILE_DELETE_ERROR, message: 'Could not delete file.' };
const UNKNOWN_OF_FILES = {
  beforeSaveFile: SAVING, afterSaveFile: SAVING, beforeDeleteFile: DELETING, afterDeleteFile: DELETING,
};

async function runFunction(run) {
  const { name } = run.frame;
  const entry = registry.functionNamed(name);
  if (!entry) throw new ParseError(ParseError.SCRIPT_FAILED, `Invalid function: "${name}"`);
  const request = requests.ofFunction(run);
  await validate(entry.validator, request);
  return sdk().encode(await call(entry.handler, request));
}

async function runJob(run) {
  const entry = registry.jobNamed(run.frame.name);
  if (!entry) throw new ParseError(ParseError.SCRIPT_FAILED, 'Invalid job.');
  const request = requests.ofJob(run);
  const result = await call(entry.handler, request, request.message);
  return result === undefined || result === null ? null : typeof result === 'string' ? result : sdk().encode(result);
}

async function runTrigger(run) {
  const { frame } = run;
  const entry = registry.triggerOf(frame.trigger, frame.className);
  if (!entry) return {};
  const request = requests.ofTrigger(run);
  try {
    await validate(entry.validator, request);
    const returned = isSkipped(entry.validator, request) ? undefined : await call(entry.handler, request);
    return results.ofTrigger(run, returned, request);
  } catch (error) {
    throw resolved(error, UNKNOWN_OF_FILES[frame.trigger] || UNKNOWN);
  } finally {
    if (request.object) sdk().reclaim(request.object);
  }
}

const KINDS = { function: runFunction, job: runJob, trigger: runTrigger };

/** Starts a run. */
function start(frame) {
  const run = new Run(frame, (outcome) => finish(run, outcome));
  open.set(run.id, run);
  const work = KINDS[run.kind];
  within(run, async () => {
    try {
      if (!work) throw new ParseError(ParseError.INVALID_JSON, `There are no runs of the kind ${run.kind}.`);
      run.succeed(await work(run));
    } catch (error) {
      run.fail(error);
    }
  });
}

function finish(run, { failed, result, error }) {
  open.delete(run.id);
  if (run.cancelled) return;
  try {
    send({ id: run.id, ...(failed ? { t: 'failed', error: wireError(resolved(error), run) } : { t: 'done', result }) });
  } catch (cause) {
    const code = cause instanceof FrameTooLarge ? ParseError.OBJECT_TOO_LARGE : ParseError.SCRIPT_FAILED;
    send({ t: 'failed', id: run.id, error: wireError(new ParseError(code, cause.message), run) });
  }
}

/** Cancels a run: its further requests are refused, and its outcome is not sent. */
function cancel(id) {
  const run = open.get(id);
  if (!run) return;
  run.cancelled = true;
  run.succeed();
}

/** The process ends: every run fails with the same error. */
function failAll(error) {
  for (const run of [...open.values()]) run.fail(error);
}

module.exports = { cancel, failAll, start };
