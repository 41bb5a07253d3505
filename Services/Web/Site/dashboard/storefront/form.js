// The editor of the storefront's look.

import { fill, h } from '../../shared/dom.js';
import { field } from '../../shared/elements/dialog.js';
import { t } from '../../shared/i18n.js';
import { fieldError } from '../../shared/problems.js';
import { server } from '../../shared/settings.js';
import { upload } from '../../shared/upload.js';
import { photoField } from '../forms/photo-field.js';
import { drawIcons } from './icons.js';
import { shopPreview } from './preview.js';
import { sectionsField } from './sections.js';
import { colorNames, colorsOf, fonts, LANGUAGES, readTheme, warnings, writeTheme } from './theme.js';

/**
 * @param stored the stored look; `{}` for none.
 * @param problem the form's `problemLine`.
 * @returns `{ element, read() }`: `read` uploads new pictures and returns the new look.
 */
export function themeForm(stored, problem, signal) {
  const first = writeTheme(stored);
  const preview = shopPreview(signal);
  const warning = h('div', { role: 'status' });
  const sections = sectionsField(first.sections);
  let form = null;
  let logo = stored.logo?.url ?? null;
  const values = () => ({
    ...Object.fromEntries([...new FormData(form)].filter(([, value]) => typeof value === 'string')),
    sections: sections.value(),
  });
  function draw() {
    if (!form) return;
    const now = values();
    preview.show(now, logo);
    const shown = warnings(now).map(({ kind, ratio }) =>
      h('p.problem', t('storefront.lowContrast', { scheme: t(`storefront.${kind}`), ratio: ratio.toFixed(1) })),
    );
    // A repeated text would be read out again.
    if (warning.textContent !== shown.map((line) => line.textContent).join('')) fill(warning, shown);
  }
  const photo = photoField(logo, t('storefront.logo'), (url) => {
    logo = url;
    draw();
  });
  form = h(
    'form.columns.look',
    { oninput: draw, onchange: draw },
    h(
      'div.stack',
      h('section.card.stack', texts(first), h('h2', t('storefront.logo')), photo.element),
      h('section.card.stack', h('h2', t('storefront.colors')), colors('light', first), colors('dark', first), warning),
      h('section.card.stack', sections.element),
      problem.element,
      h('div.actions', h('button.primary', { type: 'submit' }, t('action.save'))),
    ),
    h('section.card', h('header', h('h2', t('storefront.preview'))), preview.element),
  );
  draw();

  async function read() {
    const theme = themeOf(values(), stored);
    const picture = await photo.value();
    if (picture === null) delete theme.logo;
    else if (picture) theme.logo = picture;
    const look = (one) => JSON.stringify([one.name, one.lightAccent]);
    const isLetter = !theme.logo && look(theme) !== look(stored);
    if (picture !== undefined || isLetter || !theme.icons) theme.icons = await iconsOf(theme, picture && logo);
    return theme;
  }
  return { element: form, read };
}

function themeOf(values, stored) {
  try {
    return readTheme(values, stored);
  } catch (error) {
    throw error.key ? fieldError(error.field, t(error.key)) : error;
  }
}

async function iconsOf(theme, picture) {
  const { accent, 'on-accent': ink, ground } = colorsOf(theme, 'light');
  const files = await drawIcons({ picture, name: theme.name ?? server.shop, accent, ink, ground });
  const sent = Object.entries(files).map(async ([name, file]) => [name, await upload(file)]);
  return Object.fromEntries(await Promise.all(sent));
}

function texts(values) {
  const select = (name, options) =>
    field({ name, label: t(`storefront.${name}`), type: 'select', required: true, value: values[name], options });
  return [
    field({
      name: 'name',
      label: t('storefront.name'),
      maxlength: 60,
      hint: t('storefront.nameHint', { name: server.shop }),
      value: values.name,
    }),
    h(
      'div.pair',
      select(
        'font',
        Object.keys(fonts).map((name) => [name, t(`storefront.font.${name}`)]),
      ),
      select('language', [
        ['', t('storefront.browserLanguage')],
        ...LANGUAGES.map((code) => [code, t(`storefront.language.${code}`)]),
      ]),
    ),
  ];
}

function colors(kind, values) {
  const names = Object.keys(colorNames).filter((name) => name.startsWith(kind));
  return h(
    'fieldset',
    h('legend', t(`storefront.${kind}`)),
    h(
      'div.trio',
      names.map((name) =>
        field({
          name,
          label: t(`storefront.color.${name.slice(kind.length)}`),
          type: 'color',
          required: true,
          value: values[name],
        }),
      ),
    ),
  );
}
