// The behaviour of every form: one request at a time, errors beside their fields, and a question before typed values
// are lost.

import { t } from '../i18n.js';
import { fieldError } from '../problems.js';
import { guard, isUnsaved, settle } from '../unsaved.js';
import { dialog } from './dialog.js';

/**
 * Gives a form its behaviour.
 * @param options `{ problem, send, submit(), name }`: the `problemLine` in the form, its button, the work, and a name
 *   by which a redrawn view finds the form again.
 */
export function attend(form, { problem, send, submit, name }) {
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    problem.clear();
    send.disabled = true;
    send.setAttribute('aria-busy', 'true');
    try {
      await submit();
    } catch (error) {
      if (error?.name !== 'AbortError') problem.show(error, form);
    } finally {
      send.disabled = false;
      send.removeAttribute('aria-busy');
    }
  });
  // Instead of the browser's bubble, which vanishes. The browser reports every field; the first one counts.
  form.addEventListener(
    'invalid',
    (event) => {
      event.preventDefault();
      if ([...form.elements].find(({ validity }) => validity && !validity.valid) !== event.target) return;
      problem.show(fieldError(event.target.name, event.target.validationMessage), form);
    },
    true,
  );
  guard(form, name);
}

let isAsking = false;

/** Asks before the typed values of forms are lost. @returns whether they may be. */
export async function mayLose(forms) {
  const changed = forms.filter(isUnsaved);
  if (!changed.length) return true;
  if (isAsking) return false;
  isAsking = true;
  const isSure = await dialog({
    title: t('unsaved.title'),
    text: t('unsaved.text'),
    confirm: t('unsaved.leave'),
    cancel: t('unsaved.stay'),
    isDanger: true,
    submit: () => true,
  });
  isAsking = false;
  if (isSure) for (const form of changed) settle(form);
  return Boolean(isSure);
}
