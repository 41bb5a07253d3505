// What the storefront's pages show of a shopper who is signed in.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadShop } from '../pages.mjs';

const { showFavorite, showName } = await loadShop('shopper.js');

test('the link to the account has the name while the shopper is signed in', () => {
  const attributes = new Map();
  const link = {
    textContent: 'Account',
    setAttribute: (name, value) => attributes.set(name, value),
    removeAttribute: (name) => attributes.delete(name),
  };
  showName(link, 'Ann');
  assert.equal(attributes.get('aria-label'), 'Account (Ann)');
  assert.equal(link.title, 'Ann');
  showName(link, undefined);
  assert.equal(attributes.has('aria-label'), false);
  assert.equal(link.title, '');
  assert.equal(link.textContent, 'Account');
  showName(null, 'Ann');
});

test('the form of a favorite removes it, and adds it again', () => {
  const parts = { input: { name: 'product', value: 'p1' }, button: { textContent: 'Add' } };
  const form = { dataset: { favorite: 'p1', remove: 'Remove' }, querySelector: (name) => parts[name] };
  showFavorite(form, 'f1');
  assert.deepEqual(parts, { input: { name: 'remove', value: 'f1' }, button: { textContent: 'Remove' } });
  for (const none of ['', undefined]) {
    showFavorite(form, none);
    assert.deepEqual(parts, { input: { name: 'product', value: 'p1' }, button: { textContent: 'Add' } });
  }
});
