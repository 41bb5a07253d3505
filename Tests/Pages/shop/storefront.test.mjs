// The look of the storefront: the form and the stored value match, and the preview has the colours of the server.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { loadView } from '../pages.mjs';

const { contrast, scheme, standards } = await loadView('storefront/colors.js');
const { bareTheme, fonts, properties, readTheme, warnings, writeTheme } = await loadView('storefront/theme.js');

const source = (path) => readFileSync(new URL(`../../../Services/Web/${path}`, import.meta.url), 'utf8');

test('fonts and standard colours are those of the server', () => {
  const theme = source('Shop/Theme/ShopTheme.swift');
  for (const [name, font] of Object.entries(fonts))
    assert.ok(theme.includes(`"${name}":`) && theme.includes(font), name);
  const swift = source('Shop/Theme/ShopScheme.swift');
  const style = source('Site/shop/shop.css').replaceAll('#fff;', '#ffffff;');
  for (const colors of Object.values(standards)) {
    assert.ok(swift.includes(Object.values(colors).join(' ')));
    for (const [name, color] of Object.entries(colors)) assert.ok(style.includes(`--${name}: ${color};`), name);
  }
});

/** As in `ShopThemeTests`. */
const computed = [
  [
    'light',
    { accent: '#0055AA' },
    '--ground:#fbfaf8;--card:#ffffff;--ink:#1d1b18;--soft:#6b6966;--line:#d3d2d0;--accent:#0055aa;--on-accent:#ffffff;--bad:#a3241a;--good:#1f6b3a',
  ],
  [
    'light',
    { background: '#ffff00', text: '#ffff66' },
    '--ground:#ffff00;--card:#ffff99;--ink:#000000;--soft:#595900;--line:#d1d100;--accent:#8a3b52;--on-accent:#ffffff;--bad:#a3241a;--good:#1f6b3a',
  ],
  [
    'dark',
    { background: '#102030', text: '#777777', accent: 'red' },
    '--ground:#102030;--card:#1e2d3c;--ink:#ffffff;--soft:#abb1b7;--line:#3b4855;--accent:#e79ab3;--on-accent:#000000;--bad:#ff9a8f;--good:#8fd6a5',
  ],
  [
    'light',
    { background: '#737373' },
    '--ground:#737373;--card:#737373;--ink:#ffffff;--soft:#fafafa;--line:#8c8c8c;--accent:#8a3b52;--on-accent:#ffffff;--bad:#ffffff;--good:#ffffff',
  ],
];

test('colours of a scheme are those of the server', () => {
  for (const [kind, own, css] of computed) {
    const declared = Object.entries(scheme(kind, own)).map(([name, color]) => `--${name}:${color}`);
    assert.equal(declared.join(';'), css, JSON.stringify(own));
  }
  assert.equal(scheme('dark', { accent: 'url(//evil.example)', text: '#12345' }), standards.dark);
});

test('every text of every scheme can be read', () => {
  const levels = [0, 51, 102, 115, 119, 128, 153, 204, 255].map((level) => level.toString(16).padStart(2, '0'));
  for (const kind of ['light', 'dark']) {
    for (const red of levels) {
      for (const blue of levels) {
        const colors = scheme(kind, { background: `#${red}77${blue}`, accent: `#${blue}${red}77` });
        for (const name of ['ink', 'soft', 'bad', 'good']) {
          for (const behind of ['ground', 'card']) {
            assert.ok(
              contrast(colors[name], colors[behind]) >= 4.5,
              `${name} on ${behind} of ${JSON.stringify(colors)}`,
            );
          }
        }
        assert.ok(contrast(colors['on-accent'], colors.accent) >= 4.5);
      }
    }
  }
});

test('a look is the same after it was in the form', () => {
  for (const stored of [
    {},
    { name: 'Rose', font: 'slab', language: 'de', sections: ['best', 'brands'], lightAccent: '#0055aa' },
    { darkText: '#ffffff', logo: { __type: 'File', name: 'a.png' }, later: [1] },
  ]) {
    assert.deepEqual(readTheme(writeTheme(stored), stored), stored);
  }
  assert.deepEqual(writeTheme({ sections: ['x', 'new', 'new'], font: 'toString', lightText: 'red' }).sections, ['new']);
  assert.equal(writeTheme({ font: 'toString' }).font, 'system');
  assert.throws(() => readTheme({ ...writeTheme({}), sections: [] }, {}), { key: 'storefront.noSection' });
});

test('no URL is stored', () => {
  const file = (name) => ({ __type: 'File', name, url: `https://shop.example/${name}` });
  assert.deepEqual(bareTheme({ name: 'Rose', logo: file('a'), icons: { 192: file('b') } }), {
    name: 'Rose',
    logo: { __type: 'File', name: 'a' },
    icons: { 192: { __type: 'File', name: 'b' } },
  });
  assert.deepEqual(bareTheme({}), {});
});

test('a text that is hard to read has a warning', () => {
  assert.deepEqual(warnings(writeTheme({})), []);
  const [warning, ...others] = warnings(writeTheme({ lightText: '#bbbbbb', lightBackground: '#ffffff' }));
  assert.equal(warning.kind, 'light');
  assert.equal(warning.ratio.toFixed(1), '1.9');
  assert.deepEqual(others, []);
  assert.equal(properties({ font: 'mono' }, 'dark')['--font'], fonts.mono);
});
