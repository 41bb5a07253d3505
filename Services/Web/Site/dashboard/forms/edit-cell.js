// A value that becomes a field when it is pressed: Enter or leaving saves, Escape cancels.

import { fill, h } from '../../shared/dom.js';
import { failure } from '../../shared/elements/toast.js';

/** @param options `{ text, value, label, inputmode, save(text) }`; `save` throws for an invalid text. */
export function editCell({ text, value, label, inputmode, save }) {
  const place = h('span');
  const shown = h(
    'button.edit',
    { type: 'button', 'aria-label': `${text}. ${label}`, tabindex: -1, onclick: edit },
    text,
  );

  function edit() {
    const input = h('input', {
      value,
      'aria-label': label,
      inputmode,
      autocomplete: 'off',
      maxlength: 20,
      tabindex: -1,
    });
    let isOver = false;
    const end = (isKept) => {
      if (isOver) return;
      if (isKept && input.value !== String(value)) {
        try {
          const cell = place.closest('td');
          const hasFocus = document.activeElement === input;
          isOver = true;
          // Saving redraws the row; the table then keeps the focus on the cell.
          if (hasFocus) cell?.focus();
          save(input.value);
        } catch (error) {
          isOver = false;
          input.setAttribute('aria-invalid', 'true');
          failure(error);
          input.focus();
          return;
        }
      }
      isOver = true;
      const cell = place.closest('td');
      const hadFocus = document.activeElement === input;
      fill(place, shown);
      if (hadFocus) cell?.focus();
    };
    input.addEventListener('keydown', (event) => {
      if (event.key === 'Enter') {
        event.preventDefault();
        event.stopPropagation();
        end(true);
      }
      if (event.key === 'Escape') {
        event.preventDefault();
        event.stopPropagation();
        end(false);
      }
    });
    input.addEventListener('blur', () => end(true));
    fill(place, input);
    input.select();
    input.focus();
  }
  return fill(place, shown);
}
