// The sections of the home page: which ones, and their order.

import { fill, h } from '../../shared/dom.js';
import { t } from '../../shared/i18n.js';
import { SECTIONS } from './theme.js';

/** @returns `{ element, value() }`: the chosen sections in their order. */
export function sectionsField(chosen) {
  let order = [...chosen, ...SECTIONS.filter((one) => !chosen.includes(one))];
  const on = new Set(chosen);
  const list = h('ol');
  // Shows the form that the sections were changed.
  const state = h('input', { type: 'hidden', name: 'sections' });
  const value = () => order.filter((one) => on.has(one));

  function changed() {
    state.value = order.map((one) => (on.has(one) ? one : `-${one}`)).join();
    state.dispatchEvent(new Event('input', { bubbles: true }));
  }
  function move(name, by) {
    const index = order.indexOf(name);
    order = order.toSpliced(index, 1).toSpliced(index + by, 0, name);
    draw();
    changed();
    const buttons = [...list.children[index + by].querySelectorAll('button')];
    (buttons[by < 0 ? 0 : 1].disabled ? buttons[by < 0 ? 1 : 0] : buttons[by < 0 ? 0 : 1]).focus();
  }
  function row(name, index) {
    const title = t(`storefront.section.${name}`);
    const box = h('input', {
      type: 'checkbox',
      checked: on.has(name),
      onchange: ({ target }) => {
        if (target.checked) on.add(name);
        else on.delete(name);
        changed();
      },
    });
    const button = (text, key, by, isOff) =>
      h(
        'button.quiet.square',
        { type: 'button', disabled: isOff, 'aria-label': t(key, { name: title }), onclick: () => move(name, by) },
        text,
      );
    return h(
      'li.bar',
      h('label.check', box, h('span', title)),
      button('↑', 'storefront.up', -1, index === 0),
      button('↓', 'storefront.down', 1, index === order.length - 1),
    );
  }
  const draw = () => fill(list, order.map(row));
  draw();
  state.value = order.map((one) => (on.has(one) ? one : `-${one}`)).join();
  return { element: h('fieldset', h('legend', t('storefront.sections')), list, state), value };
}
