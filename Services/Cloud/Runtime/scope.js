'use strict';
// The run that code belongs to, followed through promises, timers and callbacks.
const { AsyncLocalStorage } = require('node:async_hooks');

const storage = new AsyncLocalStorage();

/** One call of a function, a trigger or a job: its outcome is told once, whoever tells it first. */
class Run {
  /**
   * @param frame what the host sent
   * @param settled called once with `{ failed, result, error }`
   */
  constructor(frame, settled) {
    this.id = frame.id;
    this.kind = frame.kind;
    this.frame = frame;
    this.caller = frame.request || {};
    this.usesMasterKey = false;
    this.cancelled = false;
    this.open = true;
    this.settled = settled;
  }

  succeed(result) {
    this.finish({ failed: false, result });
  }

  fail(error) {
    this.finish({ failed: true, error });
  }

  finish(outcome) {
    if (!this.open) return;
    this.open = false;
    this.settled(outcome);
  }
}

/** The run that the calling code belongs to; null while main.js is loaded and in what it started then. */
function currentRun() {
  return storage.getStore() || null;
}

/** Calls work inside a run. */
function within(run, work) {
  return storage.run(run, work);
}

module.exports = { Run, currentRun, within };
