// Code blocks that can be copied.

import { fill, h } from '../shared/dom.js';
import { toast } from '../shared/elements/toast.js';
import { t } from '../shared/i18n.js';

/**
 * Code with a button that copies it.
 * @param name the subject in the button's label, for screen readers.
 */
export function code(text, { name, id } = {}) {
  const body = h('code', text);
  // Wider than a phone: the block scrolls on its own, also by keyboard.
  const box = h('pre', { tabindex: 0, role: 'region', 'aria-label': name, 'data-code': id }, body);
  const button = h('button', { type: 'button', 'aria-label': t('code.copyWhat', { what: name }) }, t('code.copy'));
  button.addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText(body.textContent);
      fill(button, t('code.copied'));
      toast(t('code.copiedWhat', { what: name }));
    } catch {
      // Browsers have no clipboard for pages without TLS: the text is selected instead, so that one key copies it.
      getSelection().selectAllChildren(body);
      toast(t('code.chosen'));
    }
  });
  return h('div.code', box, button);
}

/** A text of the document, with names between backticks shown as code. */
export function prose(text) {
  return text.split('`').map((part, place) => (place % 2 ? h('code', part) : part));
}

/** JSON with indentation. */
export function pretty(value) {
  return JSON.stringify(value, null, 2);
}
