// Tables as text: how a spreadsheet reads them, and how they are read back.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load } from './pages.mjs';

const { CSVError, guard, parseCSV, unguard, writeCSV } = await load('csv.js');

const cells = (text) => parseCSV(text).map((row) => row.cells);

test('rows are read as RFC 4180 has them', () => {
  assert.deepEqual(cells('a,b\r\n1,2\r\n'), [
    ['a', 'b'],
    ['1', '2'],
  ]);
  assert.deepEqual(cells('a,b\n"x, ""y""\nz",\n'), [
    ['a', 'b'],
    ['x, "y"\nz', ''],
  ]);
  assert.deepEqual(cells('\ufeffa,b'), [['a', 'b']]);
  assert.deepEqual(cells('a\r1\r'), [['a'], ['1']]);
  assert.deepEqual(cells(''), []);
  assert.deepEqual(cells('a,'), [['a', '']]);
  assert.deepEqual(cells('a\n""\n'), [['a']]);
});

test('semicolons and tabs separate where the first line has them', () => {
  assert.deepEqual(cells('a;b\n1,5;2'), [
    ['a', 'b'],
    ['1,5', '2'],
  ]);
  assert.deepEqual(cells('a\tb\n1,5\t2'), [
    ['a', 'b'],
    ['1,5', '2'],
  ]);
  assert.deepEqual(cells('"a;b;c",d\n1,2'), [
    ['a;b;c', 'd'],
    ['1', '2'],
  ]);
});

test('a row knows the line that it begins at', () => {
  const lines = parseCSV('a,b\r\n"1\r\n2\r\n3",x\r\n\r\n4,5').map((row) => row.line);
  assert.deepEqual(lines, [1, 2, 6]);
});

test('quotes that do not match are told with their line', () => {
  for (const [text, line] of [
    ['a,b\n1,"2', 2],
    ['a\n"x"y', 2],
    ['a\nx"y', 2],
  ]) {
    assert.throws(
      () => parseCSV(text),
      (error) => error instanceof CSVError && error.line === line,
      text,
    );
  }
});

test('formulas are texts for a spreadsheet and themselves again when they come back', () => {
  const formulas = [
    '=HYPERLINK("http://evil.example";"x")',
    '+1+1',
    '-2+3',
    '@SUM(A1)',
    '\t=1',
    '\r=1',
    '  =1',
    '\uff1d1',
    "'=1",
    "''=1",
  ];
  for (const text of formulas) {
    assert.equal(guard(text)[0], "'", text);
    assert.equal(unguard(guard(text)), text);
  }
  for (const text of ['plain', "it's", "'quoted'", '1-2', 'a=b', '12.50', '']) {
    assert.equal(guard(text), text);
    assert.equal(unguard(text), text);
  }
});

test('what is written is read as it was', () => {
  const rows = [
    ['name', 'detail'],
    ['=cmd|"/c calc"!A1', 'one\r\ntwo, "three"; four\t'],
    [" 'x ", ''],
    ['ünï', "'=x"],
  ];
  const text = writeCSV(rows);
  assert.ok(text.startsWith('\ufeff'));
  for (const line of text.slice(1).split('\r\n')) assert.ok(!/^"?[=+\-@]/.test(line), line);
  assert.deepEqual(cells(text), rows);
});

test('a number below nothing is no formula', () => {
  assert.equal(writeCSV([['amount'], [-1.5], [Number.NaN]]), '\ufeffamount\r\n-1.5\r\n\r\n');
});
