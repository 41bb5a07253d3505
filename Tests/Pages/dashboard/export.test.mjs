// The file of a class with the current filters.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load, loadView } from '../pages.mjs';

const { exportURL } = await loadView('browser/export.js');
const { condition, read } = await load('browser/filter.js');

test('a file has the rows of the filters', () => {
  assert.equal(exportURL('Product', {}, 'csv'), '/parse/export/Product?format=csv');
  const where = condition(read('[["name","text","contains","a&b","" ]]'));
  const url = new URL(exportURL('Product', where, 'json'), 'https://shop.example');
  assert.equal(url.searchParams.get('format'), 'json');
  assert.deepEqual(JSON.parse(url.searchParams.get('where')), { name: { $regex: 'a&b', $options: 'i' } });
});
