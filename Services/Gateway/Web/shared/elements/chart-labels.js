// Which labels have room below a chart, and where.

/** Pixels between two labels. */
const GAP = 12;
/** Signs of a label; the whole text is in the reading and the table. */
const LONGEST = 18;

/** A label as the axis has it. */
export const cut = (text) => (text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text);

/**
 * The labels that are written, `[{ index, x }]`, each with its middle: every one, or every second, third and so on from
 * the last, as far as they keep apart. One at the edge moves inwards.
 * @param widths pixels of each label.
 * @param places `{ x(index) }`, the middle of each point.
 * @param width pixels of the picture.
 */
export function labelPlaces(widths, { x }, width) {
  const last = widths.length - 1;
  const place = (index) => {
    const half = widths[index] / 2;
    return { index, x: Math.max(half, Math.min(width - half, x(index))) };
  };
  for (let every = 1; every <= last; every += 1) {
    const count = Math.floor(last / every) + 1;
    const all = Array.from({ length: count }, (_, at) => place(last - (count - 1 - at) * every));
    if (all.every((label, at) => !at || apart(widths, all[at - 1], label))) return all;
  }
  return last < 0 ? [] : [place(last)];
}

const apart = (widths, one, next) => next.x - one.x >= (widths[one.index] + widths[next.index]) / 2 + GAP;

let pen = null;

/** The pixels that a text of an axis takes. It need not be on the page. */
export function textWidth(text) {
  pen ??= document.createElement('canvas').getContext('2d');
  pen.font = `12px ${getComputedStyle(document.body).fontFamily}`;
  return pen.measureText(text).width;
}
