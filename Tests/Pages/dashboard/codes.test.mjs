// Discount codes: the form and the stored definition match, and each state of a code.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadView } from '../pages.mjs';

const { readCode, stateOf, writeCode } = await loadView('codes/definition.js');

const date = (iso) => ({ __type: 'Date', iso });

test('a code is the same after it was in the form', () => {
  for (const code of [
    { discountCode: 'BF20', percent: 20, minimumMinorUnits: 0 },
    {
      discountCode: 'FIVE-OFF',
      amountMinorUnits: 550,
      minimumMinorUnits: 1999,
      from: date('2030-01-01T10:00:00.000Z'),
      until: date('2030-02-01T10:00:00.000Z'),
      brandId: 'bR1',
      usesMax: 100,
      usesPerCustomerMax: 1,
    },
  ]) {
    const read = readCode(writeCode(code));
    for (const name of ['from', 'until']) if (read[name]) read[name] = date(read[name]);
    assert.deepEqual(Object.fromEntries(Object.entries(read).filter(([, value]) => value !== null)), code);
  }
});

test('a time that was not changed keeps its seconds', () => {
  const code = { discountCode: 'BF20', percent: 20, from: date('2030-01-01T10:00:30.500Z') };
  const written = writeCode(code);
  assert.equal(readCode(written, code).from, '2030-01-01T10:00:30.500Z');
  assert.equal(readCode({ ...written, from: '2030-01-01T10:01' }, code).from, '2030-01-01T10:01:00.000Z');
  assert.equal(readCode({ ...written, from: '' }, code).from, null);
});

test('changing percent to an amount removes the percent', () => {
  const read = readCode({ ...writeCode({ discountCode: 'BF20', percent: 20 }), kind: 'amount', value: '5.00' });
  assert.equal(read.percent, null);
  assert.equal(read.amountMinorUnits, 500);
});

test('what is no code has an error with a text, about its field', () => {
  const told = (values) => {
    try {
      return readCode({ ...writeCode({ discountCode: 'BF20', percent: 20 }), ...values });
    } catch (error) {
      assert.equal(error.field, Object.keys(values).at(-1));
      return error.key;
    }
  };
  for (const discountCode of ['', 'AB', 'A B C', 'A'.repeat(41), 'ÄÖÜ']) {
    assert.equal(told({ discountCode }), 'codes.badCode', discountCode);
  }
  assert.equal(told({ discountCode: ' bf20 ' }).discountCode, 'BF20');
  for (const value of ['', '0', '101', '2.5', 'x']) assert.equal(told({ value }), 'codes.badPercent', value);
  for (const value of ['', '0', 'x']) assert.equal(told({ kind: 'amount', value }), 'codes.badAmount', value);
  assert.equal(told({ minimum: 'x' }), 'codes.badAmount');
  assert.equal(told({ usesMax: '100001' }), 'codes.badUses');
  assert.equal(told({ from: '2030-02-01T00:00', until: '2030-01-01T00:00' }), 'codes.badTimes');
});

test('the state of a code', () => {
  const now = Date.parse('2030-06-01T00:00:00Z');
  const code = { active: true, uses: 2 };
  assert.equal(stateOf(code, now), 'active');
  assert.equal(stateOf({ ...code, active: false, usesMax: 2 }, now), 'off');
  assert.equal(stateOf({ ...code, until: date('2030-06-01T00:00:00Z') }, now), 'expired');
  assert.equal(stateOf({ ...code, from: date('2030-06-01T00:00:01Z') }, now), 'planned');
  assert.equal(stateOf({ ...code, usesMax: 2 }, now), 'exhausted');
  assert.equal(stateOf({ ...code, usesMax: 3 }, now), 'active');
});
