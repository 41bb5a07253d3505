// Selects and places the labels that fit below a chart.

/** Pixels between two labels. */
const GAP = 12;
/** Characters of a label; the reading and the table have the whole text. */
const LONGEST = 18;

/** A label, cut for the axis. */
export const cut = (text) => (text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text);

/**
 * The shown labels, `[{ index, x }]`, with their centres: every label, or every second, third and so on from the last,
 * so that they do not overlap. A label at the edge is moved inwards.
 * @param widths pixels of each label.
 * @param places `{ x(index) }`, the centre of each point.
 * @param width pixels of the chart.
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

/** The width in pixels of a text on an axis. The text need not be on the page. */
export function textWidth(text) {
  pen ??= document.createElement('canvas').getContext('2d');
  pen.font = `12px ${getComputedStyle(document.body).fontFamily}`;
  return pen.measureText(text).width;
}
