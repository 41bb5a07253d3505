// Builds elements from tags, attributes and texts. Nothing here parses markup: a text always remains a text.

const SVG = 'http://www.w3.org/2000/svg';

/**
 * h('button.primary', { type: 'button', onclick: save }, 'Save')
 * Attributes: functions become listeners; `false`, null and undefined are skipped; `true` gives an empty attribute.
 * Children: nodes and texts, or arrays of them; null and false are skipped.
 */
export function h(selector, attributes, ...children) {
  return build(document.createElement(tag(selector)), selector, attributes, children);
}

/** `h` for SVG. */
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

/** Sets only URLs of safe schemes: a link typed by a shopper must not run a script. */
function setURL(element, name, value) {
  // A fragment of this page stays relative to the current URL.
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

/** Replaces the children of an element. */
export function fill(element, ...children) {
  element.replaceChildren(...flat(children));
  return element;
}

let last = 0;

/** An unused id, to connect a label with its field. */
export function freshId(prefix) {
  last += 1;
  return `${prefix}-${last}`;
}
