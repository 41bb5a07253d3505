// Many changes at once, each with an answer of its own.

import { APIError, call } from './api.js';
import { server } from './settings.js';

/** Changes that one request takes along. */
const SIZE = 50;

/**
 * Sends changes, `{ method, path, body }` with the path behind the mount, a part after the other. Nothing is asked
 * again: who does not know whether a change was taken looks first.
 * @param onProgress is told how many were answered.
 * @param options `{ isRead, signal }`: whether asking again does no harm, as of `call`.
 * @returns for each change what the server answered, or an APIError.
 */
export async function batch(changes, onProgress = () => {}, options = {}) {
  const answers = [];
  while (answers.length < changes.length) {
    const part = changes.slice(answers.length, answers.length + SIZE);
    const requests = part.map((change) => ({ ...change, path: server.mount + change.path }));
    answers.push(...(await some(requests, options)));
    onProgress(answers.length);
  }
  return answers;
}

async function some(requests, options) {
  try {
    const answers = await call('POST', '/batch', { body: { requests }, ...options });
    return requests.map((_, index) => {
      const { success, error } = answers[index] ?? {};
      return success ?? new APIError(error?.code ?? -1, error?.error ?? '');
    });
  } catch (error) {
    if (!(error instanceof APIError) || error.isSession) throw error;
    return requests.map(() => error);
  }
}
