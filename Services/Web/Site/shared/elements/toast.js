// Short notes at the edge of the page, announced by screen readers, and the plain text of an error.

import { h } from '../dom.js';
import { icon } from '../icons.js';
import { hasText, t } from '../i18n.js';

const STAYS = 6000;
/** With a button. */
const STAYS_LONGER = 12000;
let place = null;

function region() {
  if (!place?.isConnected) {
    place = h('div.toasts', { role: 'status', 'aria-live': 'polite', popover: 'manual' });
    document.body.append(place);
  }
  // The top layer, above open dialogs.
  if (place.matches(':popover-open')) place.hidePopover();
  place.showPopover();
  return place;
}

/**
 * Shows that an action succeeded. Hovering or focusing keeps the note.
 * @param undo takes the action back; null when that is impossible.
 */
export function toast(text, kind = 'good', undo = null) {
  const takeBack = async () => {
    note.remove();
    try {
      await undo();
      toast(t('undo.done'));
    } catch (error) {
      failure(error);
    }
  };
  const note = h(
    `div.toast.${kind}`,
    icon(kind === 'good' ? 'check' : 'close'),
    h('p', text),
    undo ? h('button', { type: 'button', onclick: takeBack }, t('undo.action')) : null,
    h(
      'button.quiet.square',
      { type: 'button', 'aria-label': t('action.close'), onclick: () => note.remove() },
      icon('close'),
    ),
  );
  region().append(note);
  const leave = () => {
    if (note.matches(':hover, :focus-within')) setTimeout(leave, STAYS);
    else note.remove();
  };
  // An error note stays until it is dismissed.
  if (kind === 'good') setTimeout(leave, undo ? STAYS_LONGER : STAYS);
}

export function failure(error) {
  if (error?.name !== 'AbortError') toast(errorText(error), 'bad');
}

/** The text of an error for users: the translated text for its code, if any, otherwise the server's message. */
export function errorText(error) {
  if (error?.code !== undefined && hasText(`error.${error.code}`)) return t(`error.${error.code}`);
  return error?.message || t('error.other');
}
