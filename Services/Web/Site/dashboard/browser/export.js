// Saves all rows of a class that match the current filters to a file. The server reads them page by page.

import { APIError, headers } from '../../shared/api.js';
import { h } from '../../shared/dom.js';
import { failure } from '../../shared/elements/toast.js';
import { t } from '../../shared/i18n.js';
import { server } from '../../shared/settings.js';
import { saveFile } from '../forms/save-file.js';

const types = { csv: 'text/csv', json: 'application/json' };

/** The URL of the file. */
export function exportURL(className, where, format) {
  const query = { format, ...(Object.keys(where).length ? { where: JSON.stringify(where) } : {}) };
  return `${server.mount}/export/${className}?${new URLSearchParams(query)}`;
}

export function exportMenu(className, where, signal) {
  const save = async (format, button) => {
    button.disabled = true;
    try {
      const answer = await fetch(exportURL(className, where, format), {
        credentials: 'omit',
        headers: headers(),
        signal,
      });
      if (!answer.ok) {
        const { code, error } = await answer.json();
        throw new APIError(code, error, answer.status);
      }
      saveFile(`${className}.${format}`, types[format], await answer.blob());
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
