// The elements of `Site/components`: what the page for app developers shows of each. Texts are by `id`, and by the names
// of attributes and events.

const SERVER = ['base', 'application-id', 'key'];
const brands = { 'class-name': 'Category', order: 'title', 'title-key': 'title', 'image-key': 'image' };
const products = { 'class-name': 'Product', order: 'name', 'title-key': 'name', 'image-key': 'thumbnail' };
const table = 'satchel-query-table';

/** Each with its attributes and the form of their values, its events with their details, and an example's attributes. */
export const elements = [
  {
    id: 'queryTable',
    tag: table,
    attributes: {
      'class-name': 'Product',
      where: '{"stock":{"$gt":0}}',
      order: '-createdAt',
      include: 'brand',
      keys: 'name,brand',
      'title-key': 'brand.title',
      'text-key': 'detail',
      'image-key': 'thumbnail',
      href: '/products/{objectId}',
      label: '',
      lang: 'de',
    },
    events: { 'satchel-load': 'rows', 'satchel-open': 'row', 'satchel-error': 'error' },
    example: brands,
  },
  {
    id: 'productTable',
    tag: 'satchel-product-table',
    attributes: { brand: 'objectId', search: '', 'min-price': '0', 'max-price': '20.5', currency: 'EUR', bag: '' },
    events: { 'satchel-bag': 'row, result' },
    example: { 'page-size': 5, 'auto-pages': 0, bag: true, scrolls: true, label: 'products' },
  },
  {
    id: 'image',
    tag: 'satchel-image',
    attributes: { src: 'URL', alt: '', cache: '100', progress: '' },
    events: { 'satchel-progress': 'received, total', 'satchel-loaded': 'src', 'satchel-error': 'error' },
    example: { src: 'picture', alt: 'photo', cache: 100, progress: true },
    isLocal: true,
  },
  {
    id: 'download',
    tag: 'satchel-download',
    attributes: { src: 'URL', name: 'catalog.pdf', label: '' },
    events: { 'satchel-progress': 'received, total', 'satchel-download': 'blob', 'satchel-error': 'error' },
    example: { src: 'picture', name: 'picture.jpg', label: 'photo' },
    isLocal: true,
  },
  {
    id: 'logIn',
    tag: 'satchel-log-in',
    attributes: { forgot: '' },
    events: {
      'satchel-session': 'user, sessionToken',
      'satchel-log-out': '',
      'satchel-forgot': 'email',
      'satchel-error': 'error',
    },
    example: { forgot: true },
  },
  {
    id: 'signUp',
    tag: 'satchel-sign-up',
    attributes: {},
    events: { 'satchel-session': 'user, sessionToken', 'satchel-error': 'error' },
    example: {},
  },
];

/** What every table can do. */
export const behaviours = [
  {
    id: 'sections',
    tag: table,
    attributes: { 'section-key': 'title', 'section-by': 'letter | value', index: '', 'heading-level': '3' },
    events: {},
    example: { ...brands, 'section-key': 'title', index: true, scrolls: true, label: 'brands' },
  },
  {
    id: 'infinite',
    tag: table,
    attributes: { 'page-size': '20', 'auto-pages': '4', scrolls: '' },
    events: { 'satchel-load': 'rows' },
    example: { ...products, 'page-size': 8, scrolls: true, label: 'products' },
  },
  {
    id: 'pull',
    tag: table,
    attributes: { refresh: '' },
    events: { 'satchel-refresh': '' },
    example: { ...brands, refresh: true, scrolls: true, label: 'brands' },
  },
  {
    id: 'editing',
    tag: table,
    attributes: { edit: 'delete insert reorder', editing: '', saves: '', 'position-key': 'position' },
    events: { 'satchel-delete': 'row', 'satchel-insert': 'row, place', 'satchel-reorder': 'row, from, to' },
    example: { ...brands, edit: 'delete insert reorder', scrolls: true, label: 'brands' },
  },
  {
    id: 'selection',
    tag: table,
    attributes: { selection: 'single | multiple' },
    events: { 'satchel-select': 'rows' },
    example: { ...brands, selection: 'multiple', scrolls: true, label: 'brands' },
  },
  {
    id: 'swipe',
    tag: table,
    attributes: { actions: 'save:Save, delete:Delete' },
    events: { 'satchel-action': 'name, row' },
    example: { ...brands, actions: 'actions', scrolls: true, label: 'brands' },
  },
  {
    id: 'states',
    tag: table,
    attributes: { empty: '' },
    events: { 'satchel-error': 'error' },
    example: { ...brands, where: '{"title":"no brand has this name"}', empty: 'empty' },
  },
];

/** The attributes of an example, with the server and with texts in place of their names. */
export function attributesOf({ example, isLocal }, app, texts) {
  const server = { base: app.url, 'application-id': app.applicationId, key: app.clientKey };
  const own = Object.entries(example).map(([name, value]) => [name, texts[value] ?? value]);
  const common = isLocal ? [] : SERVER.map((name) => [name, server[name]]);
  return [...common, ...own].filter(([, value]) => value !== '');
}

const escaped = (text) => String(text).replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;');

/** The lines of HTML that use an element in a page of any site. */
export function markupOf(element, app, texts) {
  const { origin } = new URL(app.url);
  const attributes = attributesOf(element, app, texts).map(([name, value]) =>
    value === true ? `\n  ${name}` : `\n  ${name}="${escaped(value)}"`,
  );
  return [
    `<script type="module" src="${origin}/components/v1/${element.tag}.js"></script>`,
    `<${element.tag}${attributes.join('')}></${element.tag}>`,
  ].join('\n');
}

/** The policy that a page of another site needs. */
export function policyOf(app) {
  const { origin } = new URL(app.url);
  return `Content-Security-Policy: default-src 'none'; script-src ${origin};\n  connect-src ${origin}; img-src ${origin} blob:`;
}

/** The key of a text: `satchel-log-out` and `log-out` give `logOut`. */
export const keyOf = (name) => name.replace(/^satchel-/, '').replace(/-(\w)/g, (_, letter) => letter.toUpperCase());
