// Work that many events ask for, done seldom.

import { APIError, isChanging } from '../api.js';

/** Events of one change come together. */
const SETTLES = 120;

/**
 * A function that asks for some work: it is done soon, at most once in a pause, one at a time, and not while a change
 * of this tab's own is under way, which the view shows by itself. What the server refuses is left to the next time.
 * @param work is told the signal.
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
