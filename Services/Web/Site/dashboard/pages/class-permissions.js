// The permissions and hidden fields of a class. The operator reviews the differences before each save.

import { complete, difference, wire } from '../../shared/browser/permissions.js';
import { fill, h } from '../../shared/dom.js';
import { failure, toast } from '../../shared/elements/toast.js';
import { t } from '../../shared/i18n.js';
import { guardWork } from '../../shared/unsaved.js';
import { review } from '../browser/permission-changes.js';
import { grantTable, protectedTable } from '../browser/permission-parts.js';
import { change, classTabs, schema } from '../browser/schemas.js';
import { counted, heading } from '../lists/listing.js';

export async function render({ params: { className }, router, signal, redraw }) {
  const known = await schema(className, signal);
  const before = complete(known.classLevelPermissions);
  const state = { before, now: before, extra: { who: [], fields: [] } };
  const tables = h('div');
  const text = h('pre', { tabindex: 0, role: 'region', 'aria-label': t('permission.json') });
  const count = h('span', { role: 'status' });
  const save = h('button.primary', { type: 'button', onclick: () => ask().catch(failure) }, t('permission.save'));
  const reset = h('button', { type: 'button', onclick: redraw }, t('permission.reset'));
  guardWork(tables, () => difference(state.before, state.now).length > 0);

  function changed(next) {
    state.now = next;
    tell();
  }
  function tell() {
    const { length } = difference(state.before, state.now);
    fill(count, length ? counted('permission.changes', length) : t('permission.unchanged'));
    save.disabled = length === 0;
    reset.disabled = length === 0;
    fill(text, JSON.stringify(state.now, null, 2));
  }
  function draw() {
    const focus = placeOfFocus(tables);
    const parts = [grantTable, protectedTable].map((part) => part(known, state, changed, draw));
    fill(tables, parts);
    focus();
    tell();
  }
  async function ask() {
    const saved = await review(className, state.before, state.now, async (permissions) => {
      const current = await schema(className);
      // Another operator's change is not overwritten.
      if (difference(state.before, current.classLevelPermissions).length) throw new Error(t('permission.meanwhile'));
      return change(className, { classLevelPermissions: permissions });
    });
    if (!saved) return;
    state.before = state.now;
    const takeBack = async () => {
      await change(className, { classLevelPermissions: wire(before) });
      await redraw();
    };
    toast(t('permission.saved', { className }), 'good', takeBack);
    redraw();
  }
  draw();
  return [
    h('a.back', { href: router.href('/data') }, t('data.classes')),
    heading(className, t('permission.note'), h('div.actions', reset, save)),
    classTabs(router, className, 'permissions'),
    h('p.hint', count),
    tables,
    h('details.spaced', h('summary.button', t('permission.json')), text),
  ];
}

/** Returns a function that restores the current focus after a redraw. */
function placeOfFocus(within) {
  const active = document.activeElement;
  const label = within.contains(active) ? active.getAttribute('aria-label') : null;
  const form = [...within.querySelectorAll('form')].indexOf(active?.closest('form'));
  return () => {
    const named = [...within.querySelectorAll('[aria-label]')].find((other) => other.ariaLabel === label);
    const field = form < 0 ? null : within.querySelectorAll('form')[form]?.querySelector('input, select');
    (field ?? named)?.focus();
  };
}
