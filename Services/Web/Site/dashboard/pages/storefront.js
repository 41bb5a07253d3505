// The look of the storefront, with a preview. It is a parameter of Config, which every client may read.

import { call } from '../../shared/api.js';
import { attend } from '../../shared/elements/form.js';
import { toast } from '../../shared/elements/toast.js';
import { t } from '../../shared/i18n.js';
import { problemLine } from '../../shared/problems.js';
import { settle } from '../../shared/unsaved.js';
import { heading } from '../lists/listing.js';
import { change } from '../operations/config-change.js';
import { themeForm } from '../storefront/form.js';
import { bareTheme, PARAMETER } from '../storefront/theme.js';

export async function render({ signal, redraw }) {
  const before = await read(signal);
  const problem = problemLine();
  const { element, read: wanted } = themeForm(before?.value ?? {}, problem, signal);
  const submit = async () => {
    const after = { name: PARAMETER, value: await wanted(), isHidden: false };
    await save(before, after);
    settle(element);
    await redraw();
    const takeBack = async () => {
      await save(await read(), before);
      await redraw();
    };
    toast(t('storefront.saved'), 'good', takeBack);
  };
  attend(element, { name: 'storefront', problem, send: element.querySelector('[type=submit]'), submit });
  return [heading(t('area.storefront'), t('storefront.note')), element];
}

/** The parameter; null for none. */
async function read(signal) {
  const { params } = await call('GET', '/config', { signal });
  return Object.hasOwn(params, PARAMETER) ? { name: PARAMETER, value: params[PARAMETER], isHidden: false } : null;
}

/** @throws a translated error when another operator has changed the look. */
async function save(before, after) {
  const body = change(before, after && { ...after, value: bareTheme(after.value) }, await read());
  if (!body) throw new Error(t('ops.changedMeanwhile'));
  await call('PUT', '/config', { body });
}
