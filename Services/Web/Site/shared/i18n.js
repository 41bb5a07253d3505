// Translations from JSON files beside the page. A file may set its writing direction as `_dir`.

import { preference, server } from './settings.js';

const choice = preference('language', '');
let texts = {};
let language = 'en';
let plurals = new Intl.PluralRules('en');

/** The available languages by code, each with its own name for itself. */
export const languages = Object.fromEntries(server.languages.map((code) => [code, ownName(code)]));

function ownName(code) {
  const name = new Intl.DisplayNames([code], { type: 'language' }).of(code);
  return name.charAt(0).toLocaleUpperCase(code) + name.slice(1);
}

/**
 * Loads the chosen language, or the first available one of the browser's list.
 * @param base the URL of the folder with the files.
 */
export async function loadTexts(base) {
  const wanted = [choice.get(), ...navigator.languages].flatMap((name) => [name, name.split('-')[0]]);
  language = wanted.find((name) => Object.hasOwn(languages, name)) ?? 'en';
  const answer = await fetch(new URL(`${language}.json`, base));
  if (!answer.ok) throw new Error(`The texts of ${language} are missing.`);
  texts = await answer.json();
  plurals = new Intl.PluralRules(language);
  document.documentElement.lang = language;
  document.documentElement.dir = texts._dir ?? 'ltr';
}

/** Uses texts that the page itself has. */
export function useTexts(own, code) {
  texts = own;
  language = code;
  plurals = new Intl.PluralRules(code);
}

export function chooseLanguage(name) {
  choice.set(name);
}

/** The locale for numbers and dates: the browser's variant of the language, if it names one. */
export function locale() {
  return navigator.languages.find((name) => name.split('-')[0] === language) ?? language;
}

export function currentLanguage() {
  return language;
}

/**
 * The text of a key, with `{name}` replaced. With a number `n` the plural form is used: `key.one`, `key.other`. A key
 * without a text is shown itself, so that the gap is noticed.
 */
export function t(key, values = {}) {
  const form = 'n' in values ? (texts[`${key}.${plurals.select(values.n)}`] ?? texts[`${key}.other`]) : undefined;
  const text = form ?? texts[key] ?? key;
  return text.replace(/\{(\w+)\}/g, (all, name) => (name in values ? String(values[name]) : all));
}

export function hasText(key) {
  return key in texts;
}
