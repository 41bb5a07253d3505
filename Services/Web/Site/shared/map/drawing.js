// Draws a map: lines with their degrees, points and scale.

import { svg } from '../dom.js';
import { degrees, distance } from '../format.js';
import { t } from '../i18n.js';
import { graticule, labelled } from './graticule.js';
import { scaleBar, toScreen } from './mercator.js';

const SCALE_MAX = 120;
/** A pin whose tip is at 0, 0. */
const PIN = 'M0 0C-2-7-8-10-8-17a8 8 0 1 1 16 0c0 7-6 10-8 17z';
/** Pixels by which a pin may be outside of the map and still be visible. */
const BESIDE = 30;

/** 0 and 180 degrees have no direction. */
const side = (value, positive, negative) => (value % 180 === 0 ? 'map.degrees' : value > 0 ? positive : negative);

/** A latitude or longitude in words: 52.5° N. */
export const north = (value, digits) =>
  t(side(value, 'map.north', 'map.south'), { degrees: degrees(Math.abs(value), digits) });
export const east = (value, digits) =>
  t(side(value, 'map.east', 'map.west'), { degrees: degrees(Math.abs(value), digits) });

/** A place in words. */
export const placeText = ({ latitude, longitude }) => `${north(latitude)}, ${east(longitude)}`;

export function ground(view, size) {
  const { meridians, parallels, digits } = graticule(view, size);
  const line = (ends, isMain) => svg(isMain ? 'line.main' : 'line', ends);
  return [
    meridians.map(({ degree, x }) => line({ x1: x, x2: x, y1: 0, y2: size.height }, degree === 0)),
    parallels.map(({ degree, y }) => line({ x1: 0, x2: size.width, y1: y, y2: y }, degree === 0)),
    meridians.map(({ degree, x }) => svg('text', { x: x + 4, y: 14 }, east(degree, digits))),
    parallels.map(({ degree, y }) => svg('text', { x: 4, y: y - 4 }, north(degree, digits))),
  ];
}

/** The visible points from north to south, so that a pin covers the ones behind it. */
export function seen(points, view, size) {
  return points
    .map((point) => ({ ...point, ...toScreen(view, size, point.place) }))
    .filter(({ x, y }) => x > -BESIDE && y > -BESIDE && x < size.width + BESIDE && y < size.height + BESIDE)
    .sort((a, b) => a.y - b.y);
}

/** @param points from `seen`. */
export function pins(points, size, chosen) {
  // The name of the chosen point takes precedence, then the names of points that can be chosen.
  const rank = ({ id, isFaint }) => (id === chosen ? 0 : isFaint ? 2 : 1);
  const inOrder = [...points].sort((a, b) => rank(a) - rank(b));
  const marks = points.map((point) =>
    svg(
      `g.pin${point.isFaint ? '.faint' : ''}${point.id === chosen ? '.chosen' : ''}`,
      { transform: `translate(${point.x.toFixed(1)} ${point.y.toFixed(1)})` },
      svg('title', point.name),
      svg('path', { d: PIN }),
      svg('circle', { cy: -17, r: 3 }),
    ),
  );
  const names = labelled(inOrder, size).map(({ x, y, name, isFaint, isBefore }) =>
    svg(
      `text.name${isFaint ? '.faint' : ''}`,
      { x: isBefore ? x - 11 : x + 11, y: y - 10, 'text-anchor': isBefore ? 'end' : 'start' },
      name,
    ),
  );
  return [marks, names];
}

export function scaleLine(view, { width, height }) {
  const { metres, pixels } = scaleBar(view, Math.min(SCALE_MAX, width / 3));
  const base = height - 10;
  return svg(
    'g.scale',
    svg('path', { d: `M10 ${base - 6}v6h${pixels.toFixed(1)}v-6` }),
    svg('text', { x: 14, y: base - 6 }, distance(metres)),
  );
}

/** The keyboard position: the centre of the map. */
export function cross({ width, height }) {
  const [x, y] = [width / 2, height / 2];
  return svg('path.cross', { d: `M${x - 14} ${y}h10m8 0h10M${x} ${y - 14}v10m0 8v10` });
}
