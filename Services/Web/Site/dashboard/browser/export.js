// Saves all rows of a class that match the current filters to a file. The server reads them page by page.

import { APIError } from '../../shared/api.js';
import { h } from '../../shared/dom.js';
import { failure } from '../../shared/elements/toast.js';
import { t } from '../../shared/i18n.js';
import { headers, withSession } from '../../shared/session.js';
import { server } from '../../shared/settings.js';
import { saveFile } from '../forms/save-file.js';

const types = { csv: 'text/csv', json: 'application/json' };

/** The URL of the file. */
export function exportURL(className, where, format) {
  const query = { format, ...(Object.keys(where).length ? { where: JSON.stringify(where) } : {}) };
  return `${server.mount}/export/${className}?${new URLSearchParams(query)}`;
}

async function load(url, signal) {
  const answer = await fetch(url, { credentials: 'omit', headers: headers(), signal });
  if (answer.ok) return answer.blob();
  const { code, error } = await answer.json().catch(({ message }) => {
    signal.throwIfAborted();
    return { code: 100, error: message };
  });
  throw new APIError(code, error, answer.status);
}

export function exportMenu(className, where, signal) {
  const save = async (format, button) => {
    button.disabled = true;
    try {
      const file = await withSession(() => load(exportURL(className, where, format), signal));
      saveFile(`${className}.${format}`, types[format], file);
    } catch (error) {
      failure(error);
    } finally {
      button.disabled = false;
    }
  };
  const button = (format) =>
    h(
      'button',
      {
        type: 'button',
        'aria-label': t('data.exportAs', { format: format.toUpperCase() }),
        onclick: (event) => save(format, event.currentTarget),
      },
      format.toUpperCase(),
    );
  return h('div.together', { role: 'group', 'aria-label': t('data.export') }, h('span', t('data.export')), [
    button('csv'),
    button('json'),
  ]);
}
