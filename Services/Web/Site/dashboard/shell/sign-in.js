// Sign-in with an operator's account of any role, with a second factor when the account has one. The master key must
// not be used in a browser.

import { auth, call } from '../../shared/api.js';
import { fill, freshId, h } from '../../shared/dom.js';
import { field } from '../../shared/elements/dialog.js';
import { errorText } from '../../shared/elements/toast.js';
import { t } from '../../shared/i18n.js';
import { endListening } from '../../shared/live/live.js';
import { server } from '../../shared/settings.js';
import { areas } from './areas.js';

const CODE_WANTED = 211;
/** The code of a second factor that is not accepted. */
const WRONG = 141;

/**
 * The view.
 * @param note why an earlier session ended.
 * @param name the user name, if it is known.
 * @param done is called after sign-in.
 */
export function signIn({ note, name, done }) {
  const form = signInForm(note, { name, done });
  const forgot = async () => {
    const { askForReset } = await import('./forgot.js');
    askForReset(form.elements.username.value.trim());
  };
  return h(
    'main.entry',
    h(
      'div.card',
      h('div.mark', { 'aria-hidden': 'true' }),
      h('h1', t('signIn.title')),
      h('p.soft', t('signIn.text', { shop: server.shop })),
      form,
      h('button.quiet', { type: 'button', onclick: forgot }, t('forgot.ask')),
    ),
  );
}

/** @param done is called after sign-in with whether the tab keeps the session. */
function signInForm(text, { name, isKept = false, done }) {
  const note = h('p.problem', { id: freshId('problem'), role: 'alert' }, text);
  const factor = h('div', { hidden: true });
  const send = h('button.primary', { type: 'submit' }, t('signIn.send'));
  const form = h(
    'form',
    { onsubmit: submit },
    field({
      name: 'username',
      label: t('signIn.name'),
      value: name,
      required: true,
      autocomplete: 'username',
      inputmode: 'email',
    }),
    field({
      name: 'password',
      label: t('signIn.password'),
      required: true,
      type: 'password',
      autocomplete: 'current-password',
    }),
    factor,
    field({ name: 'keeps', type: 'checkbox', label: t('signIn.keep'), checked: isKept }),
    note,
    send,
  );

  function askForCode() {
    factor.hidden = false;
    fill(
      factor,
      field({
        name: 'code',
        label: t('signIn.code'),
        hint: t('signIn.codeHint'),
        required: true,
        autocomplete: 'one-time-code',
        maxlength: 32,
      }),
    );
    factor.querySelector('input').focus();
  }

  function show(error, code) {
    fill(note, reason(error, code));
    const control = form.elements.namedItem(code ? 'code' : 'password');
    if (![101, WRONG].includes(error.code)) return;
    control.setAttribute('aria-invalid', 'true');
    control.setAttribute('aria-describedby', note.id);
    control.focus();
  }

  async function submit(event) {
    event.preventDefault();
    const values = Object.fromEntries(new FormData(form));
    send.disabled = true;
    fill(note);
    try {
      const user = await call('POST', '/login', {
        body: {
          username: values.username.trim(),
          password: values.password,
          ...(values.code ? { authData: { mfa: { token: values.code.replace(/\s/g, '') } } } : {}),
        },
      });
      await enter(user, values.keeps === 'on');
      done(values.keeps === 'on');
    } catch (error) {
      send.disabled = false;
      if (error.code === CODE_WANTED) askForCode();
      else show(error, values.code);
    }
  }

  return form;
}

/**
 * Asks the operator whose session has ended to sign in again, over the page, which keeps everything that was typed.
 * @param isKept whether the tab stored the session.
 * @returns `{ keeps }` after the sign-in of any operator, or null.
 */
export function signInAgain(isKept) {
  return new Promise((resolve) => {
    let answer;
    const end = (value) => {
      answer = value;
      box.close();
    };
    const title = freshId('title');
    const box = h(
      'dialog.signIn',
      { 'aria-labelledby': title },
      h(
        'div.content',
        h('h2', { id: title }, t('signIn.title')),
        h('p.soft', t('signIn.again')),
        signInForm(t('signIn.expired'), { isKept, done: (keeps) => end({ keeps }) }),
        h('button.quiet', { type: 'button', onclick: () => end(null) }, t('account.signOut')),
      ),
    );
    box.addEventListener('cancel', (event) => event.preventDefault());
    // Browsers close a dialog at the second Escape whatever the page says.
    box.addEventListener('close', () => {
      if (answer === undefined) return box.showModal();
      box.remove();
      resolve(answer);
    });
    document.body.append(box);
    box.showModal();
    box.querySelector('input').focus();
  });
}

/**
 * Stores the session once the services have confirmed that it is an operator's. The services check every call in any
 * case.
 */
async function enter(user, keeps) {
  const { sessionToken, objectId, username, name, firstName } = user;
  const shown = { objectId, name: name || firstName || username, firstName: firstName || name || '' };
  auth.begin(sessionToken, shown, false);
  try {
    if (!(await areas.learn()).length) throw new Error(t('signIn.noOperator'));
  } catch (error) {
    await leave();
    throw error;
  }
  auth.begin(sessionToken, shown, keeps);
}

/** Ends the session at the server; when it cannot be reached, only in the browser. */
export async function leave() {
  endListening();
  await call('POST', '/logout', { body: {} }).catch(() => {});
  auth.drop();
}

function reason(error, code) {
  if (code && error.code === WRONG) return t('signIn.wrongCode');
  if (error.code === 101 && !/locked/i.test(error.message)) return t('signIn.wrong');
  // Errors about locked accounts and limits explain themselves.
  return error.code === 101 ? error.message : errorText(error);
}
