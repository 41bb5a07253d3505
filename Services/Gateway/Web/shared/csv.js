// Tables as text (RFC 4180), and back. What a spreadsheet would take for a formula is written with a quote before it,
// which is taken off again when the file comes back.

/** Marks that begin a formula somewhere, their wide forms as well, and blanks that spreadsheets drop before them. */
const FORMULA = '\\s*[=+\\-@\uff1d\uff0b\uff0d\uff20]|[\\t\\r\\n]';
const guarded = new RegExp(`^'+(?:${FORMULA})`);
const toGuard = new RegExp(`^'*(?:${FORMULA})`);

/** A text that is no table. `line` is where, from 1. */
export class CSVError extends Error {
  constructor(line) {
    super(`The quotes in line ${line} do not match.`);
    this.line = line;
  }
}

/** A cell as nobody's program runs it. */
export function guard(text) {
  return toGuard.test(text) ? `'${text}` : text;
}

/** The text that was guarded. */
export function unguard(text) {
  return guarded.test(text) ? text.slice(1) : text;
}

/** Rows of texts and numbers as a file: UTF-8 with a mark that says so, which spreadsheets need. */
export function writeCSV(rows) {
  const cell = (value) => {
    if (typeof value === 'number') return Number.isFinite(value) ? String(value) : '';
    const text = guard(value === undefined || value === null ? '' : String(value));
    return /[",;\t\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return `\ufeff${rows.map((row) => `${row.map(cell).join(',')}\r\n`).join('')}`;
}

/**
 * The rows of a file, `{ line, cells }` with the line that a row begins at. Empty lines are left out. Separators are
 * commas, else semicolons or tabs where the first line has more of them.
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
