// Amounts as people type and read them.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { load } from './pages.mjs';

const { ago, beginning, decimals, decimalText, editableMoney, exampleMoney, money, moneyKeys, parseMoney, price } =
  await load('format.js');

test('amounts are minor units of their currency', () => {
  assert.equal(money(350, 'usd'), '$3.50');
  assert.equal(money(350, 'jpy'), '¥350');
  assert.equal(money(3500, 'kwd').replace(/\s/g, ' '), 'KWD 3.500');
  assert.equal(money(-150, 'usd'), '-$1.50');
  assert.equal(price(3.5, 'usd'), '$3.50');
  assert.equal(price(undefined), '');
  assert.deepEqual(['usd', 'jpy', 'kwd'].map(decimals), [2, 0, 3]);
});

test('what is typed is read as it is meant', () => {
  const rows = [
    ['12.50', 'usd', 1250],
    ['12,50', 'usd', 1250],
    ['12,5', 'usd', 1250],
    ['12', 'usd', 1200],
    ['$ 12.00', 'usd', 1200],
    ['1,234.50', 'usd', 123450],
    ['1.234,50', 'eur', 123450],
    ['1,234', 'usd', 123400],
    ['.5', 'usd', 50],
    ['0', 'usd', 0],
    ['350', 'jpy', 350],
    ['1,234', 'jpy', 1234],
    ['1.234', 'kwd', 1234],
    ['1.5', 'kwd', 1500],
    ['KWD 2', 'kwd', 2000],
    ['1,234,567', 'usd', 123456700],
    ['-3', 'usd', -300],
  ];
  for (const [text, currency, amount] of rows) assert.equal(parseMoney(text, currency), amount, `${text} ${currency}`);
  for (const text of [
    '',
    'abc',
    '.',
    ',',
    '1.2.3.',
    '--1',
    '1e5',
    '12.345',
    '1,234,50',
    '12,34.5',
    '1.',
    '12.505',
    '1.234',
  ]) {
    assert.ok(Number.isNaN(parseMoney(text, 'usd')), `${text} ${parseMoney(text, 'usd')}`);
  }
  assert.ok(Number.isNaN(parseMoney('1.50', 'jpy')));
  // It may be a thousand, or one and a bit.
  assert.ok(Number.isNaN(parseMoney('1,234', 'kwd')));
});

test('what is shown to be edited is read as the same', () => {
  for (const currency of ['usd', 'jpy', 'kwd']) {
    for (const amount of [0, 1, 99, 350, 123456, 99999999]) {
      assert.equal(parseMoney(editableMoney(amount, currency), currency), amount);
    }
  }
});

test('every currency has the decimals that the server counts with', () => {
  const source = readFileSync(new URL('../../Shared/ParseProtocol/Shop/Currency.swift', import.meta.url), 'utf8');
  const lists = [...source.matchAll(/^ +([023]): "+([a-z\s\\]+)"/gm)];
  assert.equal(lists.length, 3);
  for (const [, places, codes] of lists) {
    for (const code of codes.match(/[a-z]{3}/g)) {
      assert.equal(decimals(code), Number(places), code);
      assert.equal(money(1, code).replace(/[^\d]/g, ''), '1'.padStart(Number(places) + 1, '0'), code);
    }
  }
});

test('a form for money has the digits of its currency', () => {
  assert.deepEqual(['usd', 'jpy', 'kwd', 'huf'].map(exampleMoney), ['12.50', '1250', '12.500', '12.50']);
  assert.deepEqual(['usd', 'jpy', 'kwd'].map(moneyKeys), ['decimal', 'numeric', 'decimal']);
  for (const currency of ['usd', 'jpy', 'kwd']) assert.ok(parseMoney(exampleMoney(currency), currency) > 0);
  assert.deepEqual([decimalText(5, 'usd'), decimalText(-1250, 'kwd'), decimalText(7, 'jpy')], ['0.05', '-1.250', '7']);
});

test('amounts are exact up to the largest', () => {
  const most = Number.MAX_SAFE_INTEGER;
  assert.equal(decimalText(most, 'usd'), '90071992547409.91');
  assert.equal(parseMoney(decimalText(most, 'usd'), 'usd'), most);
  assert.equal(parseMoney(editableMoney(most, 'usd'), 'usd'), most);
});

test('a German types and reads a comma', async () => {
  globalThis.navigator.languages = ['de-DE'];
  globalThis.fetch = async () => ({ ok: true, json: async () => ({}) });
  globalThis.document.documentElement = {};
  const { currentLanguage, languages, loadTexts } = await load('i18n.js');
  assert.deepEqual(languages, { de: 'Deutsch', en: 'English', 'pt-BR': 'Português (Brasil)' });
  await loadTexts('https://shop.example/texts/');
  assert.equal(currentLanguage(), 'de');
  assert.deepEqual(['usd', 'jpy', 'kwd'].map(exampleMoney), ['12,50', '1250', '12,500']);
  assert.equal(money(123450, 'eur').replace(/\s/g, ' '), '1.234,50 €');
  const rows = [
    ['1.234', 'usd', 123400],
    ['1.234,50', 'usd', 123450],
    ['12.50', 'usd', 1250],
    ['1.250', 'jpy', 1250],
    ['12,500', 'kwd', 12500],
  ];
  for (const [text, currency, amount] of rows) assert.equal(parseMoney(text, currency), amount, `${text} ${currency}`);
  // In German it is a thousand, in Kuwait one and a bit.
  assert.ok(Number.isNaN(parseMoney('1.234', 'kwd')));
  globalThis.navigator.languages = ['pt-BR', 'en-US'];
  await loadTexts('https://shop.example/texts/');
  assert.equal(currentLanguage(), 'pt-BR');
  globalThis.navigator.languages = ['en-US'];
  await loadTexts('https://shop.example/texts/');
});

test('times are told in the largest unit that fits', () => {
  const now = Date.UTC(2030, 4, 2, 12);
  assert.equal(ago(new Date(now - 3 * 3600e3), now), '3 hours ago');
  assert.equal(ago({ __type: 'Date', iso: new Date(now - 86400e3).toISOString() }, now), 'yesterday');
  assert.equal(ago(null), '');
});

test('texts are cut at a word, with a sign', () => {
  assert.equal(beginning('Two for one', 60), 'Two for one');
  assert.equal(beginning('Two for one on everything', 14), 'Two for one…');
  assert.equal(beginning('Donaudampfschifffahrt', 8), 'Donaudam…');
  assert.equal(beginning('😀😀😀', 2), '😀😀…');
  assert.equal(beginning(undefined, 5), '');
});
