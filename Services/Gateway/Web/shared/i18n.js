// Texts in the reader's language, from JSON files beside the page. A file may name its writing direction as `_dir`.

import { preference } from './settings.js';

const choice = preference('language', '');
let texts = {};
let language = 'en';
let plurals = new Intl.PluralRules('en');

/** The languages that there are texts for; the first one is the one for everybody else. */
export const languages = { en: 'English', de: 'Deutsch' };

/**
 * Loads the texts of the chosen language, else of the first one that the browser names and that there is.
 * @param base the folder of the files, a URL.
 */
export async function loadTexts(base) {
  const wanted = [choice.get(), ...navigator.languages].map((name) => name.slice(0, 2));
  language = wanted.find((name) => name in languages) ?? 'en';
  const answer = await fetch(new URL(`${language}.json`, base));
  if (!answer.ok) throw new Error(`The texts of ${language} are missing.`);
  texts = await answer.json();
  plurals = new Intl.PluralRules(language);
  document.documentElement.lang = language;
  document.documentElement.dir = texts._dir ?? 'ltr';
}

export function chooseLanguage(name) {
  choice.set(name);
}

/** The language for numbers and dates: the reader's own variant of it where the browser names one. */
export function locale() {
  return navigator.languages.find((name) => name.slice(0, 2) === language) ?? language;
}

export function currentLanguage() {
  return language;
}

/**
 * The text of a key, with `{name}` replaced. With a number `n` the form for it is taken: `key.one`, `key.other`.
 * A key without a text is shown as it is, so that it is noticed.
 */
export function t(key, values = {}) {
  const form = 'n' in values ? (texts[`${key}.${plurals.select(values.n)}`] ?? texts[`${key}.other`]) : undefined;
  const text = form ?? texts[key] ?? key;
  return text.replace(/\{(\w+)\}/g, (all, name) => (name in values ? String(values[name]) : all));
}

export function hasText(key) {
  return key in texts;
}
