// Errors of a form, shown beside the field that they name.

import { freshId, h } from './dom.js';
import { errorText } from './elements/toast.js';

/** An error about the field of this name. */
export function fieldError(field, text) {
  return Object.assign(new Error(text), { field });
}

/** Names the field of the error that the work throws. */
export function about(field, work) {
  try {
    return work();
  } catch (error) {
    throw Object.assign(error, { field });
  }
}

/**
 * The line for a form's error.
 * @returns `{ element, show(error, form), clear() }`: `element` is the line's place for errors without a field.
 */
export function problemLine() {
  const line = h('p.problem', { id: freshId('problem'), role: 'alert' });
  const element = h('div.problems', line);
  let marked = null;

  function clear() {
    line.replaceChildren();
    if (!marked) return;
    const { control, described } = marked;
    marked = null;
    control.removeAttribute('aria-invalid');
    if (described) control.setAttribute('aria-describedby', described);
    else control.removeAttribute('aria-describedby');
    element.append(line);
  }

  function mark(control) {
    const described = control.getAttribute('aria-describedby');
    marked = { control, described };
    const place = control.closest('.field');
    if (place) place.append(line);
    else (control.closest('label') ?? control).after(line);
    control.setAttribute('aria-invalid', 'true');
    control.setAttribute('aria-describedby', [described, line.id].filter(Boolean).join(' '));
  }

  return {
    element,
    clear,
    show(error, form) {
      clear();
      const control = error?.field ? controlOf(form, error.field) : null;
      if (control) mark(control);
      line.append(errorText(error));
      if (control) control.focus();
      else line.scrollIntoView({ block: 'nearest' });
    },
  };
}

/** A field in a hidden part of the form cannot take the focus. */
function controlOf(form, name) {
  const found = form.elements.namedItem(name);
  const control = found?.length && !found.localName ? found[0] : found;
  return control && !control.disabled && !control.closest('[hidden]') ? control : null;
}
