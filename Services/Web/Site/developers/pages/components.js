// The elements that any site can use: what each does, its attributes and events, an example, and the HTML for it.

import { call } from '../../shared/api.js';
import { h } from '../../shared/dom.js';
import { t } from '../../shared/i18n.js';
import { meta, server } from '../../shared/settings.js';
import { code } from '../code.js';
import { attributesOf, behaviours, elements, keyOf, markupOf, policyOf } from '../elements.js';

const modules = [
  () => import('../../components/satchel-query-table.js'),
  () => import('../../components/satchel-product-table.js'),
  () => import('../../components/satchel-image.js'),
  () => import('../../components/satchel-download.js'),
  () => import('../../components/satchel-log-in.js'),
  () => import('../../components/satchel-sign-up.js'),
];

export async function render({ signal }) {
  const app = { url: meta('url'), applicationId: server.applicationId, clientKey: server.clientKey };
  const [picture] = await Promise.all([pictureOf(signal), ...modules.map((load) => load())]);
  const texts = {
    picture,
    photo: t('components.photo'),
    products: t('components.products'),
    brands: t('components.brands'),
    actions: t('components.actions'),
    empty: t('components.empty'),
  };
  const parts = (list) => list.map((element) => part(element, app, texts));
  return [
    h('div.heading', h('h1', t('components.title')), h('p.soft', t('components.text'))),
    h('nav.card', { 'aria-label': t('components.contents') }, h('ul.links', [...elements, ...behaviours].map(link))),
    h(
      'section.card.stack',
      h('header', h('h2', t('components.other'))),
      h('p', t('components.otherText')),
      code(policyOf(app), { name: 'Content-Security-Policy', id: 'policy' }),
      h('p', t('components.style')),
      code(STYLE, { name: 'CSS', id: 'style' }),
      table(t('components.server'), 'attribute', { base: 'URL', 'application-id': app.applicationId, key: '' }),
    ),
    ...parts(elements),
    h('h2', t('components.tables')),
    h('p.soft', t('components.tablesText')),
    ...parts(behaviours),
  ];
}

const STYLE = `satchel-query-table {
  color-scheme: light dark; /* follows the device; without it, light */
  --satchel-accent: #8a3b52; --satchel-on-accent: #fff; --satchel-ink: #1d1b18; --satchel-soft: #5f5850;
  --satchel-card: #fff; --satchel-line: #ddd6cc; --satchel-edge: #857c70; --satchel-bad: #a3241a;
  --satchel-ring: #1d5fa8; --satchel-radius: .5rem; --satchel-height: 24rem; --satchel-ratio: 1;
}
satchel-query-table::part(row) { border-color: silver; }`;

/** The picture of a product, from this page's origin. */
async function pictureOf(signal) {
  try {
    const query = { limit: 1, where: JSON.stringify({ fullsizeImage: { $exists: true } }) };
    const { results } = await call('GET', '/classes/Product', { query, signal });
    return results[0]?.fullsizeImage.url ?? '';
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    return '';
  }
}

const link = ({ id }) => h('li', h('a', { href: `#${id}` }, t(`components.${id}`)));

function part(element, app, texts) {
  const { id, tag, attributes, events } = element;
  const title = t(`components.${id}`);
  return h(
    'section.card.stack',
    { id },
    h('header', h(behaviours.includes(element) ? 'h3' : 'h2', title), h('code', `<${tag}>`)),
    h('p', t(`components.${id}.text`)),
    live(element, app, texts, title),
    code(markupOf(element, app, texts), { name: t('components.markup', { name: title }), id: `html-${id}` }),
    table(t('components.attributes'), 'attribute', attributes),
    table(t('components.events'), 'event', events),
  );
}

/** The element itself, and the events that it sends. */
function live(element, app, texts, title) {
  // This page may connect to its own origin alone.
  const here = { ...app, url: `${location.origin}${server.mount}` };
  const attributes = Object.fromEntries(attributesOf(element, here, texts));
  if (attributes.src) attributes.src = attributes.src.replace(new URL(app.url).origin, location.origin);
  const heard = h('p.small.soft', { 'data-heard': element.id }, t('components.listening'));
  const example = h(element.tag, attributes);
  for (const name of Object.keys(element.events)) {
    example.addEventListener(name, (event) => {
      // The element that was asked, not a picture within its rows.
      if (event.target === example) heard.textContent = `${name} ${summary(event.detail)}`;
    });
  }
  return h('div.example', { role: 'group', 'aria-label': t('components.example', { name: title }) }, example, heard);
}

/** A short form of an event's detail. */
function summary(detail) {
  const short = (value) => {
    if (Array.isArray(value)) return `[${value.length}]`;
    if (value instanceof Error) return value.message;
    if (value && typeof value === 'object') return value.title ?? value.name ?? '{…}';
    // A session's token is no business of those who look at the screen.
    return String(value).startsWith('r:') ? 'r:…' : value;
  };
  return Object.entries(detail)
    .map(([name, value]) => `${name}: ${short(value)}`)
    .join(', ');
}

function table(title, kind, rows) {
  const names = Object.entries(rows);
  if (names.length === 0) return null;
  const head = [t('table.name'), t(kind === 'event' ? 'components.detail' : 'components.value'), t('table.about')];
  return h(
    'div.scroll',
    h(
      'table.fields',
      { 'aria-label': title },
      h(
        'thead',
        h(
          'tr',
          head.map((text) => h('th', { scope: 'col' }, text)),
        ),
      ),
      h(
        'tbody',
        names.map(([name, value]) =>
          h(
            'tr',
            h('th', { scope: 'row' }, h('code', name)),
            h('td', value ? h('code', value) : null),
            h('td', t(`${kind}.${keyOf(name)}`)),
          ),
        ),
      ),
    ),
  );
}
