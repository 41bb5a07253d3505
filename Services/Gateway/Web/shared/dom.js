// Elements made of tags, attributes and texts. Nothing here parses markup: a text stays a text, whoever wrote it.

const SVG = 'http://www.w3.org/2000/svg';

/**
 * h('button.primary', { type: 'button', onclick: save }, 'Save')
 * Attributes: functions become listeners, `false`, null and undefined are left out, `true` is an empty attribute.
 * Children: nodes and texts, arrays of them; null and false are left out.
 */
export function h(selector, attributes, ...children) {
  return build(document.createElement(tag(selector)), selector, attributes, children);
}

/** The same for SVG. */
export function svg(selector, attributes, ...children) {
  return build(document.createElementNS(SVG, tag(selector)), selector, attributes, children);
}

function tag(selector) {
  return selector.split('.', 1)[0] || 'div';
}

function build(element, selector, attributes, children) {
  const isOptions =
    attributes && typeof attributes === 'object' && !(attributes instanceof Node) && !Array.isArray(attributes);
  const classes = selector.split('.').slice(1);
  if (classes.length) element.setAttribute('class', classes.join(' '));
  for (const [name, value] of Object.entries(isOptions ? attributes : {})) {
    if (value === false || value === null || value === undefined) continue;
    if (typeof value === 'function') element.addEventListener(name.slice(2), value);
    else if (name === 'value') element.value = value;
    else if (name === 'href' || name === 'src') setURL(element, name, value);
    else element.setAttribute(name, value === true ? '' : String(value));
  }
  element.append(...flat(isOptions ? children : [attributes, ...children]));
  return element;
}

function flat(children) {
  return children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false);
}

/** Only addresses that show or open something: what a shopper wrote as a link must not run. */
function setURL(element, name, value) {
  // A place of this page stays one when the address becomes another.
  const url = String(value).startsWith('#') ? value : safeURL(value);
  if (url) element.setAttribute(name, url);
}

export function safeURL(value) {
  try {
    const url = new URL(value, document.location.href);
    return ['http:', 'https:', 'blob:', 'mailto:'].includes(url.protocol) ? url.href : null;
  } catch {
    return null;
  }
}

/** Puts these children in the place of those that are there. */
export function fill(element, ...children) {
  element.replaceChildren(...flat(children));
  return element;
}

let last = 0;

/** An id that no other element has, to tie a label to its field. */
export function freshId(prefix) {
  last += 1;
  return `${prefix}-${last}`;
}
