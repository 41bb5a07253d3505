// A form of an element: its fields with their problems, and what the server says.

import { freshId, h } from './element.js';

/** The reference app's rules for fields. Returns the key of a text, or nothing. */
export function problemOf(kind, value) {
  if (value.trim() === '') return 'wanted';
  if (kind === 'email' && !/^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(value.trim())) return 'emailWrong';
  if (kind === 'newPassword' && [...value].length < 6) return 'passwordShort';
  return null;
}

const TYPES = { email: 'email', password: 'password', newPassword: 'password' };
const AUTOCOMPLETE = {
  username: 'username',
  email: 'email',
  password: 'current-password',
  newPassword: 'new-password',
  firstName: 'given-name',
  lastName: 'family-name',
  code: 'one-time-code',
};

/**
 * @param fields kinds of fields in their order
 * @param send takes the values by kind; its error is shown
 */
export function formOf(element, fields, button, send, ...more) {
  const problem = h('p', { role: 'alert', class: 'problem' });
  const inputs = new Map();
  const parts = fields.map((kind) => {
    const [id, hint] = [freshId(), freshId()];
    const input = h('input', {
      id,
      name: kind,
      type: TYPES[kind] ?? 'text',
      autocomplete: AUTOCOMPLETE[kind],
      autocapitalize: ['firstName', 'lastName'].includes(kind) ? 'words' : 'none',
      'aria-describedby': hint,
      required: true,
      part: 'input',
    });
    const told = h('span', { id: hint, class: 'problem' });
    inputs.set(kind, { input, told });
    const label = h('label', { for: id }, element.text(kind === 'newPassword' ? 'password' : kind));
    return h('div', { class: 'field' }, label, input, told);
  });
  const tell = (kind, key) => {
    const { input, told } = inputs.get(kind);
    told.textContent = key ? element.text(key) : '';
    if (key) input.setAttribute('aria-invalid', 'true');
    else input.removeAttribute('aria-invalid');
    return key ? input : null;
  };
  let isSending = false;
  const submit = async (event) => {
    event.preventDefault();
    problem.textContent = '';
    const wrong = fields.map((kind) => tell(kind, problemOf(kind, inputs.get(kind).input.value))).find(Boolean);
    if (wrong) return wrong.focus();
    // A second press sends nothing again.
    if (isSending) return undefined;
    isSending = true;
    form.setAttribute('aria-busy', 'true');
    element.announce(element.text('loading'));
    try {
      await send(Object.fromEntries(fields.map((kind) => [kind, inputs.get(kind).input.value])));
      element.announce('');
    } catch (error) {
      problem.textContent = element.failed(error);
    } finally {
      isSending = false;
      form.removeAttribute('aria-busy');
    }
    return undefined;
  };
  const form = h(
    'form',
    { novalidate: true, onsubmit: submit, part: 'form' },
    ...parts,
    problem,
    h('button', { class: 'primary', part: 'button' }, button),
    ...more,
  );
  return form;
}

/** The view of a signed-in person: the name, and a button that signs out. */
export function entered(element, { user, sessionToken }) {
  const name = user.firstName || user.username || user.email || '';
  const leave = async () => {
    await element.client.call('POST', '/logout', { body: {} }).catch(() => {});
    element.client.begin(null);
    element.emit('satchel-log-out', {});
    element.offer();
  };
  const welcome = h('p', { tabindex: -1 }, element.text('loggedIn', { name }));
  element.draw(
    h('div', { class: 'tools' }, welcome, h('button', { type: 'button', onclick: leave }, element.text('logOut'))),
  );
  welcome.focus();
  element.emit('satchel-session', { user, sessionToken });
}
