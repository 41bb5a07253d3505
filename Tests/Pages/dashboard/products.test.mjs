// Many products at once: the effects of a price change or of a file.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadView } from '../pages.mjs';

const { changedPrice, parsePercent, priceRows, saleRows } = await loadView('products/changes.js');
const { planRows, productsAsCSV, readTable } = await loadView('products/csv.js');
const { takenBack } = await loadView('products/form.js');
const { changesOf } = await loadView('products/history.js');
const { sentence } = await loadView('products/stock.js');

test('prices change by an amount, by percent or to one', () => {
  const rows = [
    [350, { kind: 'percent', value: 10 }, 385],
    [350, { kind: 'percent', value: 7.5 }, 376],
    [115, { kind: 'percent', value: 10 }, 127],
    [350, { kind: 'percent', value: -100 }, 0],
    [350, { kind: 'by', value: -100 }, 250],
    [350, { kind: 'to', value: 999 }, 999],
  ];
  for (const [price, change, wanted] of rows) assert.equal(changedPrice(price, change), wanted);
  assert.ok(Number.isNaN(changedPrice(350, { kind: 'by', value: -351 })));
});

test('a change of a product is taken back without the pieces that were sold meanwhile', () => {
  assert.deepEqual(takenBack({ name: 'Soap', stock: 4 }, { name: 'Oil', stock: 10 }), {
    name: 'Soap',
    stock: { __op: 'Increment', amount: -6 },
  });
  assert.deepEqual(takenBack({}, { stock: 10 }), { stock: { __op: 'Delete' } });
  assert.deepEqual(takenBack({ stock: 4 }, { stock: { __op: 'Delete' } }), { stock: 4 });
});

test('percent is read as people write it', () => {
  for (const [text, value] of [
    ['5', 5],
    ['-7,5 %', -7.5],
    ['\u221210', -10],
    ['+2.25%', 2.25],
    ['-100', -100],
  ])
    assert.equal(parsePercent(text), value, text);
  for (const text of ['', 'x', '1.234', '-101', '1e2', '%']) assert.ok(Number.isNaN(parsePercent(text)), text);
});

test('a preview has what is there, what would be, and a change only where there is one', () => {
  const products = [{ unitPrice: 3.5 }, { unitPrice: 1 }, { unitPrice: 0.5 }, {}];
  const rows = priceRows(products, { kind: 'by', value: -100 });
  assert.deepEqual(
    rows.map(({ before, after, isBad }) => [before, after, isBad]),
    [
      [350, 250, false],
      [100, 0, false],
      [50, NaN, true],
      [NaN, NaN, true],
    ],
  );
  assert.deepEqual(rows[0].change, { unitPrice: 2.5 });
  assert.equal(priceRows([{ unitPrice: 2 }], { kind: 'to', value: 200 })[0].change, null);
  assert.deepEqual(
    saleRows([{}, { active: false }], true).map((row) => row.change),
    [null, { active: true }],
  );
});

const brands = [
  { objectId: 'b1', title: 'Halden' },
  { objectId: 'b2', title: 'Twice' },
  { objectId: 'b3', title: 'Twice' },
];
const product = {
  objectId: 'p1',
  name: 'Soap',
  unitPrice: 3.5,
  stock: 4,
  active: true,
  brand: brands[0],
  detail: 'Old',
};
const plans = (text) => planRows(readTable(text).rows, new Map([['p1', product]]), brands);

test('a file that was written here changes nothing when it comes back', () => {
  const odd = { ...product, name: '=1+1', detail: 'a,"b"\r\nc', brand: { objectId: 'b2', title: 'Twice' } };
  const text = productsAsCSV([odd, { objectId: 'p2', name: 'Bare', unitPrice: 1 }]);
  assert.ok(text.includes("'=1+1"));
  const known = new Map([
    ['p1', odd],
    ['p2', { objectId: 'p2', name: 'Bare', unitPrice: 1 }],
  ]);
  for (const plan of planRows(readTable(text).rows, known, brands)) {
    assert.deepEqual(plan.problems, []);
    assert.deepEqual(plan.changes, []);
    assert.equal(plan.body, null);
  }
});

test('a row says what it changes, and columns that are not there stay', () => {
  const [plan] = plans('objectId,unitPrice,stock,brand\np1,"4,75",,');
  assert.deepEqual(plan.body, { unitPrice: 4.75, stock: { __op: 'Delete' }, brand: { __op: 'Delete' } });
  assert.deepEqual(plan.changes, [
    { column: 'brand', before: 'Halden', after: null },
    { column: 'unitPrice', before: 3.5, after: 4.75 },
    { column: 'stock', before: 4, after: null },
  ]);
});

test('a row without an id is a new product', () => {
  const [plan] = plans('name,unitPrice,brand,active,stock\nBrush,12.50,Halden,false,');
  assert.equal(plan.isNew, true);
  assert.deepEqual(plan.body, {
    name: 'Brush',
    unitPrice: 12.5,
    active: false,
    priceUnit: 'ea',
    brand: { __type: 'Pointer', className: 'Category', objectId: 'b1' },
  });
});

test('what cannot be taken is named by row, and the others go on', () => {
  const rows = [
    ['p1,x,,,', ['csv.badPrice']],
    ['p1,1,-1,,', ['csv.badStock', 'csv.twice']],
    ['nobody,1,1,,', ['csv.noProduct']],
    [',1,1,maybe,', ['csv.badActive', 'csv.noName']],
    [',1.234,1.5,,Twice', ['csv.badPrice', 'csv.badStock', 'csv.brandTwice', 'csv.noName']],
    [',1,1,,None', ['csv.noBrand', 'csv.noName']],
    [',1,1,,,,', ['csv.noName', 'csv.tooLong']],
  ];
  const found = plans(`objectId,unitPrice,stock,active,brand\n${rows.map(([text]) => text).join('\n')}`);
  for (const [index, [text, keys]] of rows.entries()) {
    const told = found[index].problems.map(({ key }) => key).sort();
    assert.deepEqual(
      told.filter((key) => keys.includes(key)),
      keys,
      text,
    );
    assert.equal(found[index].body, null);
    assert.equal(found[index].line, index + 2);
  }
});

test('columns that are unknown, twice or missing are named', () => {
  const table = readTable('objectId,colour,name,name\n');
  assert.deepEqual([table.unknown, table.repeated, table.missing], [['colour'], ['name'], []]);
  assert.deepEqual(readTable('colour\n1').missing, ['objectId']);
  assert.deepEqual(readTable('').missing, ['objectId']);
});

test('a change of a product is told field by field, as people read it', () => {
  const brand = (objectId) => ({ __type: 'Pointer', className: 'Category', objectId });
  const file = { __type: 'File', name: 'a.png', url: 'http://x/a.png' };
  const entry = {
    action: 'update',
    before: { unitPrice: 3.5, stock: 1200, brand: brand('b1'), detail: 'x'.repeat(200), colour: 'red' },
    after: { unitPrice: 4, stock: null, brand: brand('b9'), active: false, fullsizeImage: file, thumbnail: file },
  };
  const changes = changesOf(entry, new Map([['b1', 'Halden']]));
  // If no texts are loaded, a text is its key.
  assert.deepEqual(
    changes.map(({ name, before, after }) => [name, before, after]),
    [
      ['product.price', '$3.50', '$4.00'],
      ['product.stock', '1,200', null],
      ['product.forSale', null, 'history.no'],
      ['product.brand', 'Halden', 'b9'],
      ['product.detail', 'history.text', null],
      ['product.photo', null, 'history.file'],
      ['colour', 'history.text', null],
    ],
  );
});

test('a product that was added is told by what its form has, and whatever an entry lacks is no error', () => {
  const created = { action: 'create', before: null, after: { name: 'Serum', unitPrice: 2, ACL: {}, active: true } };
  assert.deepEqual(
    changesOf(created).map(({ name }) => name),
    ['product.name', 'product.price', 'product.forSale'],
  );
  assert.deepEqual(changesOf({ action: 'delete' }), []);
  assert.deepEqual(changesOf({ action: 'update', before: { '(changed)': ['a'] }, after: {} })[0].name, '(changed)');
  assert.equal(changesOf({ action: 'update', before: { cost: '(hidden)' } })[0].before, 'history.hidden');
});

test('a move of stock says why, and how many pieces', () => {
  assert.equal(sentence({ reason: 'adjusted', pieces: 1200 }), 'moves.adjusted: +1,200');
  assert.equal(sentence({ reason: 'reserved', pieces: -2 }), 'moves.reserved: -2');
  assert.equal(sentence({ reason: 'sold', pieces: 0 }), 'moves.sold');
});
