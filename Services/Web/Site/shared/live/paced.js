// Throttles work that many events trigger.

import { APIError, isChanging } from '../api.js';

/** Events of one change arrive together. */
const SETTLES = 120;

/**
 * A function that requests the work. It runs soon, at most once per pause, never concurrently, and not while a change
 * of this tab is in flight, because the view shows that itself. An error is left to the next run.
 * @param work is called with the signal.
 * @param signal ends it.
 */
export function paced(work, signal, { pause = 1000, isBusy = isChanging, clock = globalThis } = {}) {
  let timer = null;
  let isRunning = false;
  let isAsked = false;
  let last = -Infinity;

  function plan() {
    if (timer !== null || isRunning || !isAsked || signal.aborted) return;
    const wait = Math.max(SETTLES, last + pause - clock.performance.now());
    timer = clock.setTimeout(run, wait);
  }

  async function run() {
    timer = null;
    if (signal.aborted) return;
    if (isBusy()) return plan();
    isAsked = false;
    isRunning = true;
    last = clock.performance.now();
    try {
      await work(signal);
    } catch (error) {
      if (!signal.aborted && !(error instanceof APIError)) throw error;
    } finally {
      isRunning = false;
      plan();
    }
  }

  return () => {
    isAsked = true;
    plan();
  };
}
