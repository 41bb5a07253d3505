// Short news at the edge of the page, read out by screen readers; and what an error is in plain words.

import { h } from '../dom.js';
import { icon } from '../icons.js';
import { hasText, t } from '../i18n.js';

const STAYS = 6000;
let place = null;

function region() {
  if (!place?.isConnected) {
    place = h('div.toasts', { role: 'status', 'aria-live': 'polite', popover: 'manual' });
    document.body.append(place);
  }
  // The top layer: above dialogs, which are there as well.
  if (place.matches(':popover-open')) place.hidePopover();
  place.showPopover();
  return place;
}

/** Says that something was done. Hovering or focusing keeps it. */
export function toast(text, kind = 'good') {
  const note = h(
    `div.toast.${kind}`,
    icon(kind === 'good' ? 'check' : 'close'),
    h('p', text),
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
  // What went wrong stays until somebody has seen it.
  if (kind === 'good') setTimeout(leave, STAYS);
}

export function failure(error) {
  if (error?.name !== 'AbortError') toast(errorText(error), 'bad');
}

/** What went wrong for a person: our own text where there is one for the code, else the server's sentence. */
export function errorText(error) {
  if (error?.code !== undefined && hasText(`error.${error.code}`)) return t(`error.${error.code}`);
  return error?.message || t('error.other');
}
