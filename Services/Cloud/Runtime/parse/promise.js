'use strict';
// Parse.Promise in the form of hosted Parse, based on the language's promises.
const { currentRun } = require('../scope');
const { line } = require('../log');

/** Several results of one promise: hosted Parse's callbacks get them as arguments. */
class Results {
  constructor(values, ofArray) {
    this.values = values;
    this.ofArray = ofArray;
  }

  /** For an array of promises, a callback with one parameter gets an array; all others get separate arguments. */
  deliver(callback) {
    return this.ofArray && callback.length === 1 ? callback(this.values) : callback(...this.values);
  }
}

class ParsePromise extends Promise {
  #run = currentRun();
  #resolve;
  #reject;

  /** Without an executor, the promise is settled with its own resolve() and reject(). */
  constructor(executor) {
    const settle = {};
    super((resolve, reject) => {
      Object.assign(settle, { resolve, reject });
      if (typeof executor === 'function') executor(resolve, reject);
    });
    this.#resolve = settle.resolve;
    this.#reject = settle.reject;
  }

  resolve(...values) {
    this.#resolve(values.length > 1 ? new Results(values, false) : values[0]);
  }

  reject(error) {
    this.#reject(error);
  }

  then(succeeded, failed) {
    if (typeof succeeded !== 'function') return super.then(succeeded, failed);
    return super.then((value) => (value instanceof Results ? value.deliver(succeeded) : succeeded(value)), failed);
  }

  always(callback) {
    return this.then(callback, callback);
  }

  done(callback) {
    return this.then(callback);
  }

  fail(callback) {
    return this.then(undefined, callback);
  }

  _continueWith(continuation) {
    return this.then((...results) => continuation(results, null), (error) => continuation(null, error));
  }

  static is(value) {
    return value !== null && value !== undefined && typeof value.then === 'function';
  }

  static as(...values) {
    const promise = new ParsePromise();
    promise.resolve(...values);
    return promise;
  }

  static error(...errors) {
    return ParsePromise.reject(errors[0]);
  }

  /** Waits for all; rejects with the array of errors, each at its promise's index. */
  static when(first, ...others) {
    const ofArray = Array.isArray(first) && others.length === 0;
    const awaited = ofArray ? first : arguments.length === 0 ? [] : [first, ...others];
    const settled = Promise.allSettled(awaited).then((outcomes) => {
      if (outcomes.some((outcome) => outcome.status === 'rejected')) {
        throw outcomes.map((outcome) => outcome.reason);
      }
      return new Results(outcomes.map((outcome) => outcome.value), ofArray);
    });
    return new ParsePromise((resolve) => resolve(settled));
  }

  static _continueWhile(predicate, work) {
    if (!predicate()) return ParsePromise.as();
    return ParsePromise.as(work()).then(() => ParsePromise._continueWhile(predicate, work));
  }

  static isPromisesAPlusCompliant() {
    return true;
  }

  static enableAPlusCompliant() {}

  static disableAPlusCompliant() {
    line('warn', 'Parse.Promise.disableAPlusCompliant() has no effect: promises follow Promises/A+ here.');
  }

  /** The run in which a promise was created; null for other promises. */
  static runOf(promise) {
    return typeof promise === 'object' && promise !== null && #run in promise ? promise.#run : null;
  }
}

/**
 * The promise of an SDK method, with the optional callbacks of hosted Parse.
 * @param work a function that does the work, or a promise of it
 * @param model the error callback's argument before the error: the object of a save, nothing for a query
 */
function promised(work, options, model) {
  const promise = new ParsePromise((resolve, reject) => {
    try {
      resolve(typeof work === 'function' ? work() : work);
    } catch (error) {
      reject(error);
    }
  });
  const { success, error: failed } = options || {};
  if (typeof success !== 'function' && typeof failed !== 'function') return promise;
  const outcome = promise.then(
    (value) => {
      if (typeof success === 'function') guarded(() => success(value));
      return value;
    },
    (error) => {
      if (typeof failed === 'function') guarded(() => (model === undefined ? failed(error) : failed(model, error)));
      throw error;
    }
  );
  // Code with an error callback has handled the errors.
  if (typeof failed === 'function') outcome.catch(() => {});
  return outcome;
}

/** A call's options without its callbacks, for a request within the call: only the call's own end runs them. */
function withoutCallbacks(options) {
  return { ...options, success: undefined, error: undefined };
}

/** Calls a callback; an exception in it fails the run, because no other code could catch it. */
function guarded(callback) {
  try {
    callback();
  } catch (error) {
    const run = currentRun();
    if (run) run.fail(error);
    else line('error', String((error && error.stack) || error));
  }
}

module.exports = { ParsePromise, promised, withoutCallbacks };
