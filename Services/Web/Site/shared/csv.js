// CSV tables (RFC 4180), written and parsed. A text that a spreadsheet would treat as a formula gets a leading quote,
// which parsing removes.

/**
 * Characters that begin a formula in some spreadsheet, their wide forms included, and blanks that spreadsheets drop
 * before them.
 */
const FORMULA = '\\s*[=+\\-@\uff1d\uff0b\uff0d\uff20]|[\\t\\r\\n]';
const guarded = new RegExp(`^'+(?:${FORMULA})`);
const toGuard = new RegExp(`^'*(?:${FORMULA})`);

/** A malformed table. `line` counts from 1. */
export class CSVError extends Error {
  constructor(line) {
    super(`The quotes in line ${line} do not match.`);
    this.line = line;
  }
}

/** A cell that no spreadsheet runs as a formula. */
export function guard(text) {
  return toGuard.test(text) ? `'${text}` : text;
}

/** The original of a guarded text. */
export function unguard(text) {
  return guarded.test(text) ? text.slice(1) : text;
}

/** Rows of texts and numbers as a file: UTF-8 with a byte order mark, which spreadsheets need. */
export function writeCSV(rows) {
  const cell = (value) => {
    if (typeof value === 'number') return Number.isFinite(value) ? String(value) : '';
    const text = guard(value === undefined || value === null ? '' : String(value));
    return /[",;\t\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return `\ufeff${rows.map((row) => `${row.map(cell).join(',')}\r\n`).join('')}`;
}

/**
 * The rows of a file, `{ line, cells }` with the first line of each row. Empty lines are skipped. Separators are
 * commas, or semicolons or tabs when the first line has more of those.
 * @throws CSVError for quotes that do not match.
 */
export function parseCSV(text) {
  const all = text.replace(/^\ufeff/, '');
  const separator = separatorOf(all);
  const plain = new RegExp(`[^"\\r\\n${separator}]*`, 'y');
  const rows = [];
  let at = 0;
  let line = 1;
  let row = { line, cells: [] };

  function quoted() {
    const parts = [];
    const begin = line;
    for (at += 1; ; at += 1) {
      const end = all.indexOf('"', at);
      if (end < 0) throw new CSVError(begin);
      parts.push(all.slice(at, end));
      at = end + 1;
      if (all[at] !== '"') break;
      parts.push('"');
    }
    const cell = parts.join('');
    line += cell.split(/\r\n|\r|\n/).length - 1;
    return cell;
  }

  function endRow() {
    if (row.cells.some((cell) => cell !== '')) rows.push(row);
    row = { line, cells: [] };
  }

  while (at < all.length) {
    let cell;
    if (all[at] === '"') cell = quoted();
    else {
      plain.lastIndex = at;
      [cell] = plain.exec(all);
      at += cell.length;
    }
    row.cells.push(unguard(cell));
    const next = all[at];
    if (next === separator) {
      at += 1;
      if (at === all.length) row.cells.push('');
      continue;
    }
    if (next !== undefined && next !== '\r' && next !== '\n') throw new CSVError(line);
    at += all.startsWith('\r\n', at) ? 2 : 1;
    line += 1;
    endRow();
  }
  endRow();
  return rows;
}

function separatorOf(text) {
  const head = text.slice(0, /[\r\n]|$/.exec(text).index).replace(/"[^"]*"/g, '');
  const many = (sign) => head.split(sign).length;
  return [',', ';', '\t'].reduce((best, sign) => (many(sign) > many(best) ? sign : best));
}
