// List views: the state that an address encodes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadView } from '../pages.mjs';

const { viewQuery, wantedColumns } = await loadView('lists/list-views.js');

test('a view is its address without the page, in one order and without what is empty', () => {
  const one = viewQuery({ state: 'made', sort: 'orderNo', page: '3', search: '' });
  assert.equal(one, 'sort=orderNo&state=made');
  assert.equal(viewQuery({ sort: 'orderNo', state: 'made' }), one);
  assert.equal(viewQuery({ page: '2', added: 'x' }), '');
});

test('a view comes back as it was, whatever somebody typed', () => {
  const query = { search: 'Ümläut & <b> = 50%', columns: 'date,total', state: 'shipped' };
  assert.deepEqual(Object.fromEntries(new URLSearchParams(viewQuery(query))), query);
});

test('columns that are wanted are shown in the order of the table, and those without a name always', () => {
  const columns = [{ title: 'choice' }, { name: 'number', lead: true }, { name: 'date' }, { name: 'total' }];
  const shown = (wanted) => wantedColumns(columns, wanted).map(({ name, title }) => name ?? title);
  assert.deepEqual(shown(''), ['choice', 'number', 'date', 'total']);
  assert.deepEqual(shown(undefined), shown(''));
  assert.deepEqual(shown('total,date'), shown(''));
  assert.deepEqual(shown('total'), ['choice', 'number', 'total']);
  assert.deepEqual(shown('-'), ['choice', 'number']);
  assert.deepEqual(shown('nothing,total'), ['choice', 'number', 'total']);
});

test('a heading counts everything, and says how much of it is shown', async () => {
  const { ofAll } = await loadView('lists/listing.js');
  assert.equal(ofAll('charges.count', 200, 200), 'charges.count');
  assert.equal(ofAll('charges.count', 201, 200), 'charges.count · list.newest');
});
