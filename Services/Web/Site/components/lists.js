// The decisions of tables, without elements: values, sections, places.

/** The value of a key such as `brand.title`. */
export const valueAt = (row, key) =>
  key ? key.split('.').reduce((value, part) => (value === null ? undefined : value?.[part]), row) : undefined;

/** The text of a value: numbers and dates in the language, objects without one. */
export function shown(value, language) {
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return new Intl.NumberFormat(language).format(value);
  if (value?.__type === 'Date') return new Intl.DateTimeFormat(language).format(new Date(value.iso));
  return '';
}

/** The capital letter under which an index has a text: `Ü` is under U, a digit or mark under #. */
export function letterOf(text) {
  const letter = [...String(text ?? '').normalize('NFD')][0]?.toLocaleUpperCase('en') ?? '';
  return /^\p{L}$/u.test(letter) ? letter : '#';
}

/**
 * Rows by section, in the order in which sections first occur.
 * @param by `letter` for the first letter of the key's value, `value` for the value itself
 */
export function sectionsOf(rows, key, by = 'letter', language = 'en') {
  if (!key) return [{ name: null, rows }];
  const sections = new Map();
  for (const row of rows) {
    const text = shown(valueAt(row, key), language);
    const name = by === 'value' ? text : letterOf(text);
    if (!sections.has(name)) sections.set(name, []);
    sections.get(name).push(row);
  }
  return [...sections].map(([name, rows]) => ({ name, rows }));
}

/** The rows with one of them at another place. */
export function moved(rows, from, to) {
  const others = rows.filter((_, place) => place !== from);
  return [...others.slice(0, to), rows[from], ...others.slice(to)];
}

/** A number between the numbers of two neighbours; either may be missing. */
export function between(before, after) {
  const low = Number.isFinite(before) ? before : null;
  const high = Number.isFinite(after) ? after : null;
  if (low === null) return high === null ? 0 : high - 1;
  return high === null ? low + 1 : (low + high) / 2;
}

/** The operations of a text such as `delete reorder`. */
export const words = (text) => new Set((text ?? '').split(/\s+/).filter(Boolean));

/** Actions of a text such as `save:Save, share:Share with friends`. */
export const actionsOf = (text) =>
  (text ?? '')
    .split(',')
    .map((part) => part.trim())
    .filter(Boolean)
    .map((part) => {
      const [name, ...label] = part.split(':');
      return { name: name.trim(), label: label.join(':').trim() || name.trim() };
    });

/** An address with the values of a row: `/products/{objectId}`. */
export const filled = (template, row) =>
  template.replace(/\{([\w.]+)\}/g, (_, key) => encodeURIComponent(valueAt(row, key) ?? ''));

/** The address of a picture or a file: a text, or a file of Parse. Null for schemes but http, https and blob. */
export function addressOf(value, page = globalThis.document?.baseURI) {
  try {
    const url = new URL(typeof value === 'string' ? value : value.url, page);
    return ['http:', 'https:', 'blob:'].includes(url.protocol) ? url.href : null;
  } catch {
    return null;
  }
}
