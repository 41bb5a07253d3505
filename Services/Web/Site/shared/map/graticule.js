// The lines of a map: meridians and parallels at round degrees, as many as fit.

import { LATITUDE_MAX, TILE, toScreen, unproject } from './mercator.js';

/** Degrees between lines, widest first. */
const STEPS = [60, 30, 15, 10, 5, 2, 1, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001];
/** The minimum of pixels between two lines. */
const ROOM = 80;

/**
 * The lines in a view: `{ meridians: [{ degree, x }], parallels: [{ degree, y }], digits }`; `digits` is the number of
 * decimals in the step.
 */
export function graticule(view, size) {
  const pixels = TILE * 2 ** view.zoom;
  const step = STEPS.findLast((degrees) => (degrees / 360) * pixels >= ROOM) ?? STEPS[0];
  const digits = Math.max(0, Math.ceil(-Math.log10(step) - 1e-9));
  const round = (degrees) => Number(degrees.toFixed(digits));
  const half = { x: size.width / 2 / pixels, y: size.height / 2 / pixels };

  const meridians = [];
  const [west, east] = [view.x - half.x, view.x + half.x].map((x) => x * 360 - 180);
  for (let index = Math.ceil(west / step); index * step <= east; index += 1) {
    const degree = round(index * step);
    // The neighbouring worlds to the left and right have the same degrees.
    const turned = round(degree - 360 * Math.floor((degree + 180) / 360));
    meridians.push({ degree: turned, x: size.width / 2 + ((degree + 180) / 360 - view.x) * pixels });
  }
  const parallels = [];
  const edge = (y) => unproject({ x: view.x, y: Math.max(0, Math.min(1, y)) }).latitude;
  const [south, north] = [edge(view.y + half.y), edge(view.y - half.y)];
  for (let index = Math.ceil(south / step); index * step <= north; index += 1) {
    const degree = round(index * step);
    if (Math.abs(degree) > LATITUDE_MAX) continue;
    parallels.push({ degree, y: toScreen(view, size, { latitude: degree, longitude: 0 }).y });
  }
  return { meridians, parallels, digits };
}

/**
 * The points whose names are shown, with their side in `isBefore`: names that overlap none of the earlier ones. The
 * width of a name is estimated by its letters.
 */
export function labelled(points, size) {
  const taken = [];
  return points.flatMap((point) => {
    const { x, y, name } = point;
    const width = 16 + name.length * 7;
    const isBefore = x + 8 + width > size.width && x - 8 - width > 0;
    const left = isBefore ? x - 8 - width : x + 8;
    const box = { left, right: left + width, top: y - 22, bottom: y - 2 };
    const isOutside = x < 0 || y < 0 || x > size.width || y > size.height;
    const isFree = taken.every(
      (other) => box.left > other.right || box.right < other.left || box.top > other.bottom || box.bottom < other.top,
    );
    if (isOutside || !isFree) return [];
    taken.push(box);
    return [{ ...point, isBefore }];
  });
}
