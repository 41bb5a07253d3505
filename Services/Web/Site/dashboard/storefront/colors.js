// The colours of the storefront, as `Shop/Theme/ShopScheme.swift` computes them: for the preview and the warnings.

/** The contrast of a text with its background that WCAG demands. */
export const CONTRAST_MIN = 4.5;

/** Those of `shop/shop.css`. */
export const standards = {
  light: {
    ground: '#fbfaf8',
    card: '#ffffff',
    ink: '#1d1b18',
    soft: '#6a635a',
    line: '#ddd6cc',
    accent: '#8a3b52',
    'on-accent': '#ffffff',
    bad: '#a3241a',
    good: '#1f6b3a',
  },
  dark: {
    ground: '#171513',
    card: '#211e1b',
    ink: '#f1ede7',
    soft: '#b3aa9e',
    line: '#3b3631',
    accent: '#e79ab3',
    'on-accent': '#2b0f18',
    bad: '#ff9a8f',
    good: '#8fd6a5',
  },
};

const parts = (color) => [1, 3, 5].map((start) => Number.parseInt(color.slice(start, start + 2), 16));

export const isColor = (text) => typeof text === 'string' && /^#[0-9a-f]{6}$/i.test(text);

function mix(color, other, share) {
  const others = parts(other);
  const mixed = parts(color).map((one, index) => Math.round(one + (others[index] - one) * share));
  return `#${mixed.map((one) => one.toString(16).padStart(2, '0')).join('')}`;
}

function luminance(color) {
  const [red, green, blue] = parts(color).map((one) => {
    const value = one / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio */
export function contrast(color, other) {
  const [a, b] = [luminance(color), luminance(other)];
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
}

/** Black or white, whichever is easier to read on a colour. */
const inkOn = (color) => (contrast(color, '#000000') > contrast(color, '#ffffff') ? '#000000' : '#ffffff');

/**
 * The colours of a scheme, by the names of their custom properties.
 * @param kind `light` or `dark`.
 * @param own the shop's colours; missing and invalid ones are the standard's.
 */
export function scheme(kind, own) {
  const standard = standards[kind];
  const [accent, background, text] = [own.accent, own.background, own.text].map((one) => (isColor(one) ? one : null));
  if (!accent && !background && !text) return standard;
  const ground = (background ?? standard.ground).toLowerCase();
  const wanted = (text ?? standard.ink).toLowerCase();
  const ink = contrast(wanted, ground) >= CONTRAST_MIN ? wanted : inkOn(ground);
  const lighter =
    ground === standard.ground ? standard.card : mix(ground, '#ffffff', luminance(ground) > 0.5 ? 0.6 : 0.06);
  const card = contrast(ink, lighter) >= CONTRAST_MIN ? lighter : ground;
  const readable = (color) => {
    for (let step = 0; step < 10; step += 1) {
      const mixed = mix(color, ink, step / 10);
      if (Math.min(contrast(mixed, ground), contrast(mixed, card)) >= CONTRAST_MIN) return mixed;
    }
    return ink;
  };
  const bright = (accent ?? standard.accent).toLowerCase();
  return {
    ground,
    card,
    ink,
    soft: readable(mix(ink, ground, 0.35)),
    line: mix(ink, ground, 0.82),
    accent: bright,
    'on-accent': inkOn(bright),
    bad: readable(standard.bad),
    good: readable(standard.good),
  };
}
