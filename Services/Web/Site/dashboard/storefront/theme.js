// The look of the storefront: the Config parameter `storefront` and the values of its form.

import { CONTRAST_MIN, contrast, isColor, scheme, standards } from './colors.js';

export const PARAMETER = 'storefront';
export const SECTIONS = ['promotions', 'brands', 'new', 'best'];
const STANDARD_SECTIONS = ['promotions', 'brands', 'new'];
export const LANGUAGES = ['en', 'de'];
const KINDS = ['light', 'dark'];
const COLORS = { Accent: 'accent', Background: 'ground', Text: 'ink' };

/** As in `Shop/Theme/ShopTheme.swift`. */
export const fonts = {
  system: 'system-ui, sans-serif',
  humanist: 'Seravek, "Gill Sans Nova", Ubuntu, Calibri, "DejaVu Sans", sans-serif',
  geometric: 'Avenir, Montserrat, Corbel, "URW Gothic", sans-serif',
  classical: 'Optima, Candara, "Noto Sans", sans-serif',
  'old-style': '"Iowan Old Style", "Palatino Linotype", "URW Palladio L", P052, serif',
  transitional: 'Charter, "Bitstream Charter", "Sitka Text", Cambria, serif',
  slab: 'Rockwell, "Rockwell Nova", "Roboto Slab", "DejaVu Serif", serif',
  mono: 'ui-monospace, "Cascadia Code", Menlo, Consolas, "DejaVu Sans Mono", monospace',
};

/** The names of the form's colours with their standards: `lightAccent`. */
export const colorNames = Object.fromEntries(
  KINDS.flatMap((kind) => Object.entries(COLORS).map(([name, standard]) => [kind + name, standards[kind][standard]])),
);

/** The server gives each File its URL when it is read. */
const bare = ({ __type, name }) => ({ __type, name });

/** A look as it is stored. */
export function bareTheme(theme) {
  const stored = { ...theme };
  if (theme.logo) stored.logo = bare(theme.logo);
  if (theme.icons)
    stored.icons = Object.fromEntries(Object.entries(theme.icons).map(([name, file]) => [name, bare(file)]));
  return stored;
}

/** The values of the form for a stored look. */
export function writeTheme(stored) {
  const known = (stored?.sections ?? []).filter(
    (one, index, all) => SECTIONS.includes(one) && all.indexOf(one) === index,
  );
  const colors = Object.entries(colorNames).map(([name, standard]) => [
    name,
    isColor(stored?.[name]) ? stored[name] : standard,
  ]);
  return {
    name: stored?.name ?? '',
    font: Object.hasOwn(fonts, stored?.font ?? '') ? stored.font : 'system',
    language: LANGUAGES.includes(stored?.language) ? stored.language : '',
    sections: known.length ? known : STANDARD_SECTIONS,
    ...Object.fromEntries(colors),
  };
}

/**
 * The look for the values of the form. Logo, icons, and members that the form does not know are kept from `stored`.
 * @throws an error whose `key` names the text, and `field` the value.
 */
export function readTheme(values, stored) {
  const theme = { ...stored };
  const set = (name, value, standard) => {
    if (value === standard) delete theme[name];
    else theme[name] = value;
  };
  set('name', values.name.trim(), '');
  set('font', values.font, 'system');
  set('language', values.language, '');
  for (const [name, standard] of Object.entries(colorNames)) set(name, values[name].toLowerCase(), standard);
  const sections = values.sections.filter((one) => SECTIONS.includes(one));
  if (!sections.length)
    throw Object.assign(new Error('storefront.noSection'), { key: 'storefront.noSection', field: 'sections' });
  set('sections', sections.join() === STANDARD_SECTIONS.join() ? undefined : sections, undefined);
  return theme;
}

/** The colours of a look in a scheme. */
export const colorsOf = (theme, kind) =>
  scheme(kind, { accent: theme[`${kind}Accent`], background: theme[`${kind}Background`], text: theme[`${kind}Text`] });

/** The custom properties of a look in a scheme. */
export function properties(theme, kind) {
  const colors = Object.entries(colorsOf(theme, kind)).map(([name, color]) => [`--${name}`, color]);
  return { ...Object.fromEntries(colors), '--font': fonts[theme.font] ?? fonts.system };
}

/** The schemes whose chosen text is hard to read: `{ kind, ratio }`. The storefront shows such a text in another colour. */
export function warnings(values) {
  return KINDS.map((kind) => ({ kind, ratio: contrast(values[`${kind}Text`], values[`${kind}Background`]) })).filter(
    ({ ratio }) => ratio < CONTRAST_MIN,
  );
}
