// Money, numbers and dates in the reader's format.

import { locale } from './i18n.js';
import { server } from './settings.js';
import { dayText } from './zone.js';

const kept = new Map();

function formatter(kind, options) {
  const key = `${kind.name} ${locale()} ${JSON.stringify(options)}`;
  if (!kept.has(key)) kept.set(key, new kind(locale(), options));
  return kept.get(key);
}

// ISO 4217, as `Currency` on the server has it. `Intl` has other decimals for some, such as none for forints.
const withoutDecimals = 'bif clp djf gnf isk jpy kmf krw pyg rwf ugx vnd vuv xaf xof xpf'.split(' ');
const withThree = 'bhd iqd jod kwd lyd omr tnd'.split(' ');

/** Decimals of a currency. */
export function decimals(currency = server.currency) {
  const code = currency.toLowerCase();
  return withoutDecimals.includes(code) ? 0 : withThree.includes(code) ? 3 : 2;
}

/** An amount in major units as a plain decimal number, exactly: 1250 is `12.50`, or `1250` in yen. */
export function decimalText(minorUnits, currency = server.currency) {
  const places = decimals(currency);
  const digits = String(Math.abs(Math.round(minorUnits))).padStart(places + 1, '0');
  const whole = digits.slice(0, digits.length - places);
  return `${minorUnits < 0 ? '-' : ''}${whole}${places ? `.${digits.slice(-places)}` : ''}`;
}

/** An amount in minor units: 350 is $3.50, or ¥350 in yen. */
export function money(minorUnits, currency = server.currency) {
  const digits = decimals(currency);
  const options = { ...inCurrency(currency), minimumFractionDigits: digits, maximumFractionDigits: digits };
  return formatter(Intl.NumberFormat, options).format(decimalText(minorUnits, currency));
}

/** `money` without decimals, for narrow places. */
export function shortMoney(minorUnits, currency = server.currency) {
  const options = { ...inCurrency(currency), notation: 'compact', maximumFractionDigits: 1 };
  return formatter(Intl.NumberFormat, options).format(minorUnits / 10 ** decimals(currency));
}

const inCurrency = (currency) => ({ style: 'currency', currency: currency.toUpperCase() });

/** A price in the form of `Product.unitPrice`, a decimal number. */
export function price(value, currency = server.currency) {
  return value === undefined || value === null ? '' : money(Math.round(value * 10 ** decimals(currency)), currency);
}

/**
 * A typed amount in minor units: `12.50`, `12,50`, `1.234,50`, `$ 12`. Point or comma is taken as the decimal sign when
 * the text is unambiguous; before three digits it is a group separator only if the language uses it so.
 * @returns NaN for an invalid or ambiguous amount.
 */
export function parseMoney(text, currency = server.currency) {
  const places = decimals(currency);
  const bare = String(text)
    .toLowerCase()
    .replace(currency.toLowerCase(), '')
    .replace(/[\s\p{Sc}'’]/gu, '');
  const decimal = new RegExp(
    `^(-?)(\\d+|\\d{1,3}(?:,\\d{3})+|\\d{1,3}(?:\\.\\d{3})+|)(?:([.,])(\\d{1,${places || 1}}))?$`,
  );
  const match = decimal.exec(bare);
  if (!match || !/\d/.test(bare)) return NaN;
  const [, sign, whole, point, part = ''] = match;
  const group = /[.,]/.exec(whole)?.[0];
  if (point && (places === 0 || point === group)) return NaN;
  if (group && !point && group !== groupSign()) return NaN;
  if (point && !group && part.length === 3 && point === groupSign()) return NaN;
  return Number(`${sign}${whole.replace(/[.,]/g, '') || '0'}${part.padEnd(places, '0')}`);
}

/** The group separator of the reader's language. */
function groupSign() {
  return formatter(Intl.NumberFormat, {})
    .formatToParts(1234567)
    .find((part) => part.type === 'group')?.value;
}

/** An amount for editing: digits and the decimal sign of the language, without currency and groups. */
export function editableMoney(minorUnits, currency = server.currency) {
  const digits = decimals(currency);
  const options = { minimumFractionDigits: digits, maximumFractionDigits: digits, useGrouping: false };
  // `parseMoney` reads these digits only.
  return formatter(Intl.NumberFormat, { ...options, numberingSystem: 'latn' }).format(
    decimalText(minorUnits, currency),
  );
}

/** An amount such as people type it, for hints: `12.50`, or `1250` in yen. */
export const exampleMoney = (currency) => editableMoney(decimals(currency) === 3 ? 12500 : 1250, currency);

/** The keyboard for an amount. */
export const moneyKeys = (currency) => (decimals(currency) ? 'decimal' : 'numeric');

/** The beginning of a text, with an ellipsis when it is cut. */
export function beginning(text, most) {
  const letters = [...String(text ?? '')];
  if (letters.length <= most) return letters.join('');
  const cut = letters.slice(0, most).join('');
  // Cuts between words, except within a very long one.
  const space = cut.lastIndexOf(' ');
  return `${cut.slice(0, space > most / 2 ? space : undefined).trimEnd()}…`;
}

export function number(value) {
  return formatter(Intl.NumberFormat, {}).format(value);
}

/** Degrees of a latitude or longitude; six digits are exact to about 10 cm. */
export function degrees(value, digits = 6) {
  return formatter(Intl.NumberFormat, { maximumFractionDigits: digits }).format(value);
}

export function distance(metres) {
  const [value, unit] = metres < 1000 ? [metres, 'meter'] : [metres / 1000, 'kilometer'];
  return formatter(Intl.NumberFormat, { style: 'unit', unit, maximumFractionDigits: 1 }).format(value);
}

export function percent(share) {
  return formatter(Intl.NumberFormat, { style: 'percent', maximumFractionDigits: 0, signDisplay: 'exceptZero' }).format(
    share,
  );
}

/** A share in percent. @param digits after the decimal sign. */
export function portion(share, digits = 0) {
  const options = { style: 'percent', minimumFractionDigits: digits, maximumFractionDigits: digits };
  return formatter(Intl.NumberFormat, options).format(share);
}

/** A date from the server: a Date object or ISO 8601 text. */
export function moment(value) {
  const iso = value && typeof value === 'object' && 'iso' in value ? value.iso : value;
  return iso instanceof Date ? iso : iso ? new Date(iso) : null;
}

export function date(value) {
  return format(value, { dateStyle: 'medium' });
}

export function dateTime(value) {
  return format(value, { dateStyle: 'medium', timeStyle: 'short' });
}

/** A time with seconds, with its date unless that is today. */
export function exactTime(value) {
  const at = moment(value);
  const isToday = at && dayText(at) === dayText(new Date());
  return format(at, { timeStyle: 'medium', ...(isToday ? {} : { dateStyle: 'medium' }) });
}

export function day(value) {
  return format(value, { day: 'numeric', month: 'short' });
}

export function hour(value) {
  return format(value, { hour: '2-digit', minute: '2-digit' });
}

export function longDay(value) {
  return format(value, { weekday: 'long', day: 'numeric', month: 'long' });
}

/** In the shop's time zone, as the server counts days. */
function format(value, options) {
  const at = moment(value);
  return at ? formatter(Intl.DateTimeFormat, { ...options, timeZone: server.timeZone }).format(at) : '';
}

/** The time since, in the largest fitting unit: `3 hours ago`. */
export function ago(value, now = Date.now()) {
  const at = moment(value);
  if (!at) return '';
  const seconds = (at.getTime() - now) / 1000;
  const units = [
    ['day', 86400],
    ['hour', 3600],
    ['minute', 60],
  ];
  const [unit, size] = units.find(([, size]) => Math.abs(seconds) >= size) ?? ['minute', 60];
  return formatter(Intl.RelativeTimeFormat, { numeric: 'auto' }).format(Math.trunc(seconds / size), unit);
}
