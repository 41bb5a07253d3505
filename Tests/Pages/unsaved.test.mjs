// Typed values of forms: which count as unsaved, and what of them survives a redrawn view.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load } from './pages.mjs';

const { guard, guardWork, isUnsaved, retype, settle, typedIn, unsaved } = await load('unsaved.js');
const { reverse } = await load('undo.js');

/** A form with controls, as far as the module uses one. */
class Form extends EventTarget {
  constructor(values) {
    super();
    this.elements = Object.entries(values).map(([name, value]) => {
      const isBox = typeof value === 'boolean';
      const control = { name, type: isBox ? 'checkbox' : 'text', ...(isBox ? { checked: value } : { value }) };
      return Object.assign(control, { dispatchEvent: (event) => this.dispatchEvent(new Event(event.type)) });
    });
    this.elements.push({ name: '', type: 'submit', value: '' });
  }
  setAttribute() {}
  control(name) {
    return this.elements.find((one) => one.name === name);
  }
  type(name, value) {
    if (typeof value === 'boolean') this.control(name).checked = value;
    else this.control(name).value = value;
    this.dispatchEvent(new Event('input'));
  }
}

const page = (...forms) => ({ querySelectorAll: () => forms });

function guarded(values, name = 'form') {
  const form = new Form(values);
  guard(form, name);
  return form;
}

test('a form is unsaved while a value differs from the one that it had', () => {
  const form = guarded({ name: 'Soap', active: true });
  assert.equal(isUnsaved(form), false);
  form.type('name', 'Oil');
  assert.equal(isUnsaved(form), true);
  form.type('name', 'Soap');
  assert.equal(isUnsaved(form), false);
  form.type('active', false);
  assert.deepEqual(unsaved(page(form, new Form({ search: 'x' }))), [form]);
  settle(form);
  assert.equal(isUnsaved(form), false);
});

test('a list that arrives later is no change of the operator’s', () => {
  const form = guarded({ search: '' });
  form.elements.push({ name: 'picked', type: 'radio', checked: false });
  assert.equal(isUnsaved(form), false);
});

test('work outside of controls counts until it is settled', () => {
  let changes = 0;
  const element = new Form({});
  guardWork(element, () => changes > 0);
  assert.equal(isUnsaved(element), false);
  changes = 1;
  assert.equal(isUnsaved(element), true);
  settle(element);
  assert.equal(isUnsaved(element), false);
});

test('a redrawn view keeps typed values, but not over the change of another operator', () => {
  const before = guarded({ name: 'Soap', stock: '7', detail: '' });
  before.type('name', 'Oil');
  before.type('stock', '5');
  const after = guarded({ name: 'Soap', stock: '6', detail: 'new' });
  assert.deepEqual(retype(page(after), typedIn(page(before))), ['5']);
  assert.deepEqual(
    ['name', 'stock', 'detail'].map((name) => after.control(name).value),
    ['Oil', '6', 'new'],
  );
  // It is still unsaved.
  assert.equal(isUnsaved(after), true);
});

test('values go only into the form of the same object', () => {
  const before = guarded({ name: 'Soap' }, 'product a');
  before.type('name', 'Oil');
  const after = guarded({ name: 'Soap' }, 'product b');
  assert.deepEqual(retype(page(after), typedIn(page(before))), []);
  assert.equal(after.control('name').value, 'Soap');
});

test('a change is taken back field by field', () => {
  const product = { name: 'Soap', stock: 7 };
  assert.deepEqual(reverse(product, { name: 'Oil', detail: 'new', stock: { __op: 'Delete' } }), {
    name: 'Soap',
    detail: { __op: 'Delete' },
    stock: 7,
  });
});
