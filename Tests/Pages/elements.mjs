// Elements for views that are tested without a browser. Import it before the view's modules are loaded.
import { Storage } from './pages.mjs';

const controls = ['input', 'select', 'textarea', 'button'];

export class Element extends EventTarget {
  children = [];
  attributes = new Map();
  isConnected = true;
  textContent = '';
  #value = null;
  constructor(localName) {
    super();
    this.localName = localName;
  }
  get name() {
    return this.getAttribute('name') ?? '';
  }
  get type() {
    return this.getAttribute('type') ?? this.localName;
  }
  get value() {
    const options = this.localName === 'select' ? all(this, 'option') : [];
    return this.#value ?? (options.find((one) => one.attributes.has('selected')) ?? options[0])?.value ?? '';
  }
  set value(value) {
    this.#value = String(value);
  }
  /** A form's controls, by position and by name. */
  get elements() {
    const found = controls.flatMap((name) => all(this, name));
    for (const one of found) if (one.name) found[one.name] = one;
    return Object.assign(found, { namedItem: (name) => found.find((one) => one.name === name) ?? null });
  }
  setAttribute(name, value) {
    this.attributes.set(name, value);
  }
  getAttribute(name) {
    return this.attributes.get(name) ?? null;
  }
  removeAttribute(name) {
    this.attributes.delete(name);
  }
  append(...nodes) {
    this.children.push(...nodes);
    // A form's controls are its properties, too.
    if (this.localName === 'form') for (const one of this.elements) if (!(one.name in this)) this[one.name] = one;
  }
  replaceChildren(...nodes) {
    this.children = nodes;
  }
  querySelector(name) {
    return all(this, name)[0] ?? null;
  }
  close() {
    queueMicrotask(() => this.dispatchEvent(new Event('close')));
  }
  closest() {
    return null;
  }
  matches() {
    return false;
  }
  after() {}
  focus() {}
  remove() {}
  scrollIntoView() {}
  showModal() {}
  showPopover() {}
}

/** The elements of a name within an element. */
export function all(root, localName) {
  return root.children
    .filter((child) => child instanceof Element)
    .flatMap((child) => [...(child.localName === localName ? [child] : []), ...all(child, localName)]);
}

/** The texts of an element and all within it. */
export const textOf = (node) => (node instanceof Element ? node.children.map(textOf).join('|') : String(node));

/** The values of a form's named controls. */
class FormData {
  constructor(form) {
    this.values = form.elements.filter(({ name }) => name).map((one) => [one.name, one.value]);
  }
  [Symbol.iterator]() {
    return this.values[Symbol.iterator]();
  }
}

/** The dialog that was opened last. */
export const lastDialog = () => document.body.children.findLast(({ localName }) => localName === 'dialog');

/** Lets answers that are there be worked on. */
export const settled = () => new Promise((resolve) => setTimeout(resolve, 5));

/** A promise that is settled from outside. */
export function waiting() {
  let settle;
  const promise = new Promise((resolve, reject) => {
    settle = { resolve, reject };
  });
  return { promise, ...settle };
}

Object.assign(globalThis, {
  Node: Element,
  HTMLElement: class {},
  FormData,
  customElements: { define() {} },
  sessionStorage: new Storage(),
  history: { replaceState() {} },
  location: new URL('https://shop.example/dashboard'),
});
Object.assign(document, {
  createElement: (name) => new Element(name),
  createElementNS: (_, name) => new Element(name),
  location,
  body: new Element('body'),
});
// Without retries.
navigator.onLine = false;
