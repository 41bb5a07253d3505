// The parts of the permission editor: the grants of the class, and its hidden fields by group.

import {
  actions,
  everybody,
  grantees,
  granted,
  isGrantee,
  isGroup,
  may,
  pointed,
  pointerFields,
  signedIn,
  withPointer,
  withProtected,
  withUserFields,
} from '../../shared/browser/permissions.js';
import { fieldsOf } from '../../shared/browser/schema.js';
import { h } from '../../shared/dom.js';
import { field } from '../../shared/elements/dialog.js';
import { t } from '../../shared/i18n.js';
import { icon } from '../../shared/icons.js';
import { grantGrid } from './grant-grid.js';
import { nameOf } from './permission-changes.js';

const ALWAYS = [everybody, signedIn];

/**
 * The grants of the class.
 * @param state `{ now, extra }`: the edited permissions, and names that are in the table although they have no grant
 *   yet. `change(next)` takes the next permissions; `draw()` redraws.
 */
export function grantTable(schema, state, change, draw) {
  const columns = actions.map((action) => ({ id: action, text: t(`permission.action.${action}`) }));
  const who = [...new Set([...grantees(state.now), ...state.extra.who])].map((name) => ({
    id: { name },
    text: nameOf(name),
    note: ALWAYS.includes(name) || name.startsWith('role:') ? null : t('permission.user'),
  }));
  const fields = [...new Set([...pointerFields(state.now), ...state.extra.fields])].map((name) => ({
    id: { field: name },
    text: name,
    note: t('permission.pointer'),
  }));
  const grid = grantGrid({
    label: t('permission.title'),
    corner: t('permission.who'),
    rows: [...who, ...fields],
    columns,
    checked: ({ name, field }, action) => (field ? pointed(state.now, field, action) : may(state.now, name, action)),
    toggle: ({ name, field }, action, isOn) =>
      change(field ? withPointer(state.now, field, action, isOn) : granted(state.now, name, action, isOn)),
    box: (row, column) => t('permission.box', { who: row.text, action: column.text }),
  });
  const users = fieldsOf(schema).filter(({ type, target }) => target === '_User' || type === 'Array');
  const addField = (name) => {
    state.extra.fields.push(name);
    draw();
  };
  const pointers = users.map(({ name }) => name).filter((name) => !fields.some((row) => row.text === name));
  return h(
    'section.card.spaced',
    h('header', h('h2', t('permission.title'))),
    grid,
    adder('permission.addWho', 'permission.whoHint', isGrantee, (name) => {
      state.extra.who.push(name);
      draw();
    }),
    pointers.length ? fieldAdder(pointers, addField) : null,
    older(state, change),
  );
}

/** The fields that are hidden from groups of callers. */
export function protectedTable(schema, state, change, draw) {
  const groups = Object.keys({ [everybody]: 1, authenticated: 1, ...state.now.protectedFields });
  const drop = (group) => {
    change(withProtected(state.now, group, null));
    draw();
  };
  const rows = fieldsOf(schema).map(({ name }) => ({ id: name, text: name }));
  const hidden = (name, group) => (state.now.protectedFields[group] ?? []).includes(name);
  const grid = grantGrid({
    label: t('permission.hidden'),
    corner: t('data.field'),
    rows,
    columns: groups.map((group) => ({
      id: group,
      text: nameOf(group),
      remove: group in state.now.protectedFields ? removal(nameOf(group), () => drop(group)) : null,
    })),
    checked: hidden,
    toggle: (name, group, isOn) => {
      const isNew = !(group in state.now.protectedFields);
      const others = (state.now.protectedFields[group] ?? []).filter((other) => other !== name);
      change(withProtected(state.now, group, isOn ? [...others, name] : others));
      if (isNew) draw();
    },
    box: (row, column) => t('permission.hideBox', { field: row.text, who: column.text }),
  });
  return h(
    'section.card.spaced',
    h('header', h('h2', t('permission.hidden'))),
    h('p.hint', t('permission.hiddenHint')),
    rows.length ? grid : h('p.nothing', t('schema.noColumns')),
    adder('permission.addGroup', 'permission.groupHint', isGroup, (group) => {
      change(withProtected(state.now, group, state.now.protectedFields[group] ?? []));
      draw();
    }),
  );
}

/** Removing a group differs from emptying it: members of an empty group see the fields that other groups hide. */
function removal(name, remove) {
  return h(
    'button.quiet.square',
    { type: 'button', 'aria-label': t('permission.dropGroup', { who: name }), onclick: remove },
    icon('close'),
  );
}

function adder(label, hint, isGood, add) {
  const place = field({ name: 'who', label: t(label), required: true, hint: t(hint) });
  const submit = (event) => {
    event.preventDefault();
    const input = place.querySelector('input');
    const name = input.value.trim();
    if (!isGood(name)) return input.setAttribute('aria-invalid', 'true');
    add(name);
  };
  return h('form.bar.spaced', { onsubmit: submit }, place, h('button', { type: 'submit' }, t('acl.add')));
}

function fieldAdder(names, add) {
  const place = field({
    name: 'field',
    type: 'select',
    label: t('permission.addField'),
    required: true,
    options: names.map((name) => [name, name]),
    hint: t('permission.fieldHint'),
  });
  const submit = (event) => {
    event.preventDefault();
    add(place.querySelector('select').value);
  };
  return h('form.bar', { onsubmit: submit }, place, h('button', { type: 'submit' }, t('acl.add')));
}

/** `readUserFields` and `writeUserFields`, when a class has them: they can only be removed. */
function older(state, change) {
  const parts = { readUserFields: 'read', writeUserFields: 'write' };
  const boxes = Object.entries(parts).flatMap(([part, what]) =>
    state.before[part].map((name) =>
      h(
        'label.check',
        h('input', {
          type: 'checkbox',
          checked: state.now[part].includes(name),
          onchange: (event) => change(withUserFields(state.now, part, name, event.target.checked)),
        }),
        h('span', t(`permission.user.${what}`, { field: name })),
      ),
    ),
  );
  return boxes.length ? h('fieldset.spaced', h('legend', t('permission.older')), boxes) : null;
}
