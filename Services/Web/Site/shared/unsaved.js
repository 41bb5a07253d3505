// Values that were typed into a form and are not saved. The browser asks before the page is left; `elements/form.js`
// asks before a view or a dialog is closed.

const guarded = new WeakMap();

/** The named controls of a form with their values. */
function read(form) {
  return [...form.elements]
    .filter(({ name, type }) => name && type !== 'submit')
    .map((one) => [one.name, stateOf(one)]);
}

function stateOf({ type, value, checked, files }) {
  if (type === 'checkbox' || type === 'radio') return checked;
  if (type === 'file') return [...(files ?? [])].map(({ name, size }) => `${name} ${size}`).join();
  return value;
}

/**
 * Counts a form's present values as saved.
 * @param name identifies the form when its view is redrawn.
 */
export function guard(form, name = null) {
  const touch = () => {
    guarded.get(form).isTouched = true;
  };
  if (!guarded.has(form)) for (const event of ['input', 'change']) form.addEventListener(event, touch);
  guarded.set(form, { name: name ?? guarded.get(form)?.name, first: read(form), isTouched: false });
}

/** Also counts as unsaved what an element holds outside of a form's controls. */
export function guardWork(element, isChanged) {
  element.setAttribute('data-guarded', '');
  guarded.set(element, { isChanged });
}

/** Whether an operator changed a value. A list that was loaded into the form later is no change. */
export function isUnsaved(form) {
  const known = guarded.get(form);
  if (known?.isChanged) return known.isChanged();
  return Boolean(known?.isTouched) && JSON.stringify(read(form)) !== JSON.stringify(known.first);
}

/** The changed forms in an element. */
export function unsaved(root = document) {
  return [...root.querySelectorAll('form, [data-guarded]')].filter(isUnsaved);
}

/** Counts the present state as saved. */
export function settle(form) {
  if (guarded.get(form)?.isChanged) guarded.delete(form);
  else guard(form);
}

/** The typed values of the changed forms in an element, by the forms' names. */
export function typedIn(root) {
  const named = unsaved(root).filter((form) => guarded.get(form).name);
  return new Map(named.map((form) => [guarded.get(form).name, { first: guarded.get(form).first, now: read(form) }]));
}

/**
 * Puts typed values into the forms of a redrawn view.
 * @returns the typed texts of fields that another operator changed in the meantime.
 */
export function retype(root, typed) {
  const lost = [];
  if (!typed.size) return lost;
  for (const form of root.querySelectorAll('form')) {
    const { first = [], now = [] } = typed.get(guarded.get(form)?.name) ?? {};
    const controls = [...form.elements].filter(({ name, type }) => name && type !== 'submit');
    for (const [index, [name, value]] of now.entries()) {
      const control = controls[index];
      if (value === first[index]?.[1] || control?.name !== name || ['file', 'hidden'].includes(control.type)) continue;
      if (stateOf(control) === first[index][1]) write(control, value);
      else if (value !== stateOf(control)) lost.push(String(value));
    }
  }
  return lost;
}

function write(control, value) {
  if (typeof value === 'boolean') control.checked = value;
  else control.value = value;
  for (const event of ['input', 'change']) control.dispatchEvent(new Event(event, { bubbles: true }));
}

globalThis.addEventListener?.('beforeunload', (event) => {
  if (unsaved().length) event.preventDefault();
});
