// Sends many changes at once, each with its own response.

import { APIError, call } from './api.js';
import { server } from './settings.js';

/** Changes in one request. */
const SIZE = 50;

/**
 * Sends changes, `{ method, path, body }` with the path below the mount, one batch after the other. Nothing is retried:
 * after a lost response the caller has to check whether the change was made.
 * @param onProgress is called with the number of finished changes.
 * @param options `{ isRead, signal }`: whether the requests are safe to retry, as in `call`.
 * @returns for each change the server's response, or an APIError.
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
