// The storefront with a look that is not saved. Only this page's frame shows it: the look is set on the loaded document,
// and no request has it.

import { fill, h } from '../../shared/dom.js';
import { t } from '../../shared/i18n.js';
import { server } from '../../shared/settings.js';
import { stateChips } from '../lists/listing.js';
import { properties } from './theme.js';

/** The size of each screen in pixels. */
const screens = { desk: [1280, 900], phone: [390, 780] };

/** @returns `{ element, show(theme, logo) }`: `logo` is a URL, or null for the name. */
export function shopPreview(signal) {
  const frame = h('iframe', { src: '/', title: t('storefront.preview') });
  const box = h('div.shopFrame', frame);
  const nothing = h('p.hint', { hidden: true }, t('storefront.noPreview'));
  const chosen = { screen: 'desk', scheme: 'light' };
  let shown = null;

  function size() {
    const [width, height] = screens[chosen.screen];
    const scale = Math.min(1, box.clientWidth / width || 1);
    Object.assign(frame.style, { width: `${width}px`, height: `${height}px`, transform: `scale(${scale})` });
    box.style.height = `${Math.round(height * scale)}px`;
  }
  const draw = () => shown && dress(frame.contentDocument, shown, chosen.scheme);
  function choice(kind, names) {
    const place = h('div');
    const fillIn = () =>
      fill(
        place,
        stateChips(
          t(`storefront.${kind}`),
          names.map((name) => [name, t(`storefront.${name}`)]),
          chosen[kind],
          (name) => {
            chosen[kind] = name;
            fillIn();
            place.querySelector('[aria-pressed=true]').focus();
            size();
            draw();
          },
        ),
      );
    fillIn();
    return place;
  }
  frame.addEventListener('load', () => {
    nothing.hidden = Boolean(frame.contentDocument?.querySelector('.top .brand'));
    draw();
  });
  const observer = new ResizeObserver(size);
  observer.observe(box);
  signal.addEventListener('abort', () => observer.disconnect(), { once: true });
  const bar = h('div.bar', choice('screen', Object.keys(screens)), choice('scheme', ['light', 'dark']));
  return {
    element: h('div.stack', bar, nothing, box),
    show(theme, logo) {
      shown = { theme, logo };
      draw();
    },
  };
}

/** Sets a look on a page of the storefront. */
function dress(page, { theme, logo }, look) {
  const root = page?.documentElement;
  if (!root) return;
  for (const [name, value] of Object.entries(properties(theme, look))) root.style.setProperty(name, value);
  root.style.colorScheme = look;
  const brand = page.querySelector('.top .brand');
  const name = theme.name || server.shop;
  if (brand) {
    const picture = logo ? page.createElement('img') : name;
    if (logo) Object.assign(picture, { src: logo, alt: name });
    brand.replaceChildren(picture);
  }
  // A section without content, or one that was not there, appears after saving.
  const sections = new Map([...page.querySelectorAll('[data-section]')].map((one) => [one.dataset.section, one]));
  let last = page.querySelector('h1');
  for (const one of sections.values()) one.hidden = !theme.sections.includes(one.dataset.section);
  for (const section of theme.sections.map((one) => sections.get(one)).filter(Boolean)) {
    last.after(section);
    last = section;
  }
}
