// Maps the values of a chart to pixels.

/**
 * The scale: round steps up to the largest value, earlier figures included.
 * @param from the value at which the axis begins, when none is lower.
 */
export function scale(points, width, height, edge, from = 0) {
  const values = points.flatMap((point) => [point.value, point.before ?? point.value]);
  const greatest = Math.max(from + 1, ...values);
  const least = Math.min(from, ...values);
  const rough = (greatest - least) / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = Math.max(
    1,
    [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough),
  );
  const top = Math.ceil(greatest / step) * step;
  const bottom = Math.floor(least / step) * step;
  const inner = height - edge.top - edge.bottom;
  const slot = (width - edge.start - edge.end) / Math.max(1, points.length);
  return {
    step,
    top,
    bottom,
    slot,
    y: (value) => edge.top + inner * (1 - (value - bottom) / (top - bottom)),
    x: (index) => edge.start + slot * (index + 0.5),
  };
}

/** The values with a label on the axis, lowest first. */
export function ticks({ step, top, bottom }) {
  return Array.from({ length: Math.round((top - bottom) / step) + 1 }, (_, index) => bottom + index * step);
}
