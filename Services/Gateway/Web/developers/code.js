// Code to read and to take along.

import { fill, h } from '../shared/dom.js';
import { toast } from '../shared/elements/toast.js';
import { t } from '../shared/i18n.js';

/**
 * Code with a button that copies it.
 * @param name what the button says that it copies, for who does not see where it stands.
 */
export function code(text, { name, id } = {}) {
  const body = h('code', text);
  // Wider than a phone: it scrolls by itself, by keyboard too.
  const box = h('pre', { tabindex: 0, role: 'region', 'aria-label': name, 'data-code': id }, body);
  const button = h('button', { type: 'button', 'aria-label': t('code.copyWhat', { what: name }) }, t('code.copy'));
  button.addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText(body.textContent);
      fill(button, t('code.copied'));
      toast(t('code.copiedWhat', { what: name }));
    } catch {
      // Browsers have no clipboard for pages without TLS: the text is chosen, so that one key copies it.
      getSelection().selectAllChildren(body);
      toast(t('code.chosen'));
    }
  });
  return h('div.code', box, button);
}

/** The document's words, in which names stand between backticks. */
export function prose(text) {
  return text.split('`').map((part, place) => (place % 2 ? h('code', part) : part));
}

/** JSON as people read it. */
export function pretty(value) {
  return JSON.stringify(value, null, 2);
}
