'use strict';
// The run of the executing code, tracked through promises, timers and callbacks.
const { AsyncLocalStorage } = require('node:async_hooks');

const storage = new AsyncLocalStorage();

/** The shortest secret that is redacted, in characters: shorter ones occur in any text. */
const SECRET_MIN = 4;

/** One call of a function, a trigger or a job. Only its first outcome is reported. */
class Run {
  /**
   * @param frame the host's frame
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
    /** Texts that the code may read but that are redacted from logs and errors. */
    this.secrets = [];
  }

  hide(secret) {
    if (secret.length < SECRET_MIN) return;
    this.secrets = [...new Set([...this.secrets, secret, JSON.stringify(secret).slice(1, -1)])];
  }

  /** The text with its secrets replaced. */
  redacted(text) {
    return this.secrets.reduce((left, secret) => left.split(secret).join('[secret]'), text);
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

/** The run of the calling code; null while main.js is loaded and in work that it started then. */
function currentRun() {
  return storage.getStore() || null;
}

/** Calls work inside a run. */
function within(run, work) {
  return storage.run(run, work);
}

module.exports = { Run, currentRun, within };
