// Changes of Config parameters: from the form to the request.

import { editable, kindOf, parse } from '../../shared/browser/types.js';
import { t } from '../../shared/i18n.js';
import { fieldError } from '../../shared/problems.js';
import { runs } from '../shell/areas.js';

export const kinds = ['text', 'number', 'boolean', 'date', 'geo', 'array', 'object'];

/** The fields of the form; the name of an existing parameter cannot be changed. */
export function fieldsOf(before) {
  const kind = before ? kindOf(before.value) : 'text';
  const named = before ? [] : [{ name: 'name', label: t('ops.name'), required: true, maxlength: 128 }];
  return [
    ...named,
    {
      name: 'kind',
      type: 'select',
      label: t('ops.type'),
      required: true,
      value: kind,
      options: kinds.map((one) => [one, t(`ops.type.${one}`)]),
    },
    {
      name: 'value',
      type: 'textarea',
      rows: 5,
      label: t('ops.value'),
      hint: t('ops.valueHint'),
      value: before ? editable(before.value, kind) : '',
    },
    ...(runs('admins')
      ? [{ name: 'isHidden', type: 'checkbox', label: t('ops.masterKeyOnly'), checked: before?.isHidden }]
      : []),
  ];
}

/** @throws a translated error for a value that does not match the kind. */
export function typedValue(kind, text) {
  try {
    return parse(kind, text);
  } catch {
    throw fieldError('value', t('ops.badValue'));
  }
}

/**
 * The request body that changes a parameter.
 * @param before the value that the operator saw, null for none; `after` the new one, null to delete; `now` the
 *   server's.
 * @returns null when another operator has changed it in the meantime.
 */
export function change(before, after, now) {
  const same = (a, b) => JSON.stringify([a?.value, a?.isHidden]) === JSON.stringify([b?.value, b?.isHidden]);
  if (Boolean(before) !== Boolean(now) || !same(before, now)) return null;
  if (!after) return { params: { [before.name]: { __op: 'Delete' } } };
  return { params: { [after.name]: after.value }, masterKeyOnly: { [after.name]: after.isHidden } };
}
