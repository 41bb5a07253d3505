// The errors of a form: beside the field that they name, or at the form's end.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Element } from './elements.mjs';
import { load } from './pages.mjs';

/** An element that knows its place and its focus. */
class PlacedElement extends Element {
  hasFocus = false;
  get id() {
    return this.getAttribute('id');
  }
  append(...nodes) {
    for (const node of nodes) {
      if (node.parent) node.parent.children = node.parent.children.filter((one) => one !== node);
      if (node instanceof PlacedElement) node.parent = this;
      this.children.push(node);
    }
  }
  closest(selector) {
    const isIt = selector === '.field' ? this.attributes.get('class') === 'field' : this.attributes.has('hidden');
    return isIt ? this : (this.parent?.closest?.(selector) ?? null);
  }
  focus() {
    this.hasFocus = true;
  }
}
globalThis.document.createElement = (name) => new PlacedElement(name);

const { about, fieldError, problemLine } = await load('problems.js');

function formWith(name, hint = null) {
  const field = new PlacedElement('div');
  field.setAttribute('class', 'field');
  const control = new PlacedElement('input');
  if (hint) control.setAttribute('aria-describedby', hint);
  field.append(control);
  return { form: { elements: { namedItem: (wanted) => (wanted === name ? control : null) } }, field, control };
}

test('an error about a field stands beside it, and the field has the focus', () => {
  const { form, field, control } = formWith('price', 'hint-1');
  const problem = problemLine();
  const [line] = problem.element.children;
  problem.show(fieldError('price', 'No price.'), form);
  assert.deepEqual(line.children, ['No price.']);
  assert.equal(line.parent, field);
  assert.equal(control.getAttribute('aria-invalid'), 'true');
  assert.equal(control.getAttribute('aria-describedby'), `hint-1 ${line.getAttribute('id')}`);
  assert.equal(control.hasFocus, true);
  problem.clear();
  assert.deepEqual(line.children, []);
  assert.equal(line.parent, problem.element);
  assert.equal(control.getAttribute('aria-invalid'), null);
  assert.equal(control.getAttribute('aria-describedby'), 'hint-1');
});

test('any other error stands at the end of the form', () => {
  const { form, field, control } = formWith('price');
  const problem = problemLine();
  const [line] = problem.element.children;
  problem.show(new Error('Not today.'), form);
  problem.show(fieldError('name', 'No name.'), form);
  assert.deepEqual([line.parent, line.children], [problem.element, ['No name.']]);
  assert.equal(control.hasFocus, false);
  field.setAttribute('hidden', '');
  problem.show(fieldError('price', 'No price.'), form);
  assert.equal(line.parent, problem.element);
});

test('work names the field of its errors', () => {
  assert.equal(
    about('stock', () => 7),
    7,
  );
  assert.throws(
    () =>
      about('stock', () => {
        throw new Error('No number.');
      }),
    { field: 'stock', message: 'No number.' },
  );
});
