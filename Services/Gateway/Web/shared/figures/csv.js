// Tables as files that spreadsheets read (RFC 4180), and that run nothing there.

/** Characters with which a spreadsheet takes a text for a formula. */
const FORMULA = /^[\s]*[=+\-@]|^[\t\r\n]/;

/** A cell. A number stays one; a text that a spreadsheet would run gets a quote, which makes it a text. */
export function cell(value) {
  if (typeof value === 'number') return Number.isFinite(value) ? String(value) : '';
  const text = String(value ?? '');
  const safe = FORMULA.test(text) ? `'${text}` : text;
  return /[",\r\n;\t]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

export function csv(titles, rows) {
  return `${[titles, ...rows].map((row) => row.map(cell).join(',')).join('\r\n')}\r\n`;
}

/** Gives a file to whoever presses a button. The mark at its start tells spreadsheets that it is UTF-8. */
export function download(name, text) {
  const url = URL.createObjectURL(new Blob(['\ufeff', text], { type: 'text/csv;charset=utf-8' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name.replace(/[^\p{L}\p{N}._-]+/gu, '-');
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}
