// The projection of maps: web Mercator (EPSG:3857), as in map tiles. The world is a square from 0 to 1, with its upper
// left corner at 180° west and about 85° north. At zoom 0 it has 256 pixels on the screen, and twice as many at each
// further level. A view is `{ x, y, zoom }`: its centre in the world, and the zoom.

export const TILE = 256;
export const ZOOM_MAX = 19;
/** Beyond it the world would not be a square. */
export const LATITUDE_MAX = (Math.atan(Math.sinh(Math.PI)) * 180) / Math.PI;
/** Metres around the equator in the projection. */
const EQUATOR = 2 * Math.PI * 6378137;

const between = (value, least, most) => Math.max(least, Math.min(most, value));
const pixelsOf = (zoom) => TILE * 2 ** zoom;
/** Wraps a horizontal position into 0 to 1; the world repeats to the left and right. */
const within = (x) => x - Math.floor(x);

export function project({ latitude, longitude }) {
  const sine = Math.sin((between(latitude, -LATITUDE_MAX, LATITUDE_MAX) * Math.PI) / 180);
  return { x: longitude / 360 + 0.5, y: between(0.5 - Math.atanh(sine) / (2 * Math.PI), 0, 1) };
}

export function unproject({ x, y }) {
  return {
    latitude: (Math.atan(Math.sinh(Math.PI * (1 - 2 * y))) * 180) / Math.PI,
    longitude: within(x) * 360 - 180,
  };
}

/** The view limited to the world: it repeats to the left and right, and ends above and below. */
export function kept(view, { width, height }) {
  const zoom = between(view.zoom, Math.max(0, Math.log2(Math.max(width, height) / TILE)), ZOOM_MAX);
  const half = height / 2 / pixelsOf(zoom);
  return { x: within(view.x), y: between(view.y, half, 1 - half), zoom };
}

/** The position of a place on the screen: of its repetitions the one nearest to the centre. */
export function toScreen(view, { width, height }, place) {
  const { x, y } = project(place);
  const right = within(x - view.x + 0.5) - 0.5;
  return { x: width / 2 + right * pixelsOf(view.zoom), y: height / 2 + (y - view.y) * pixelsOf(view.zoom) };
}

export function isSeen(view, size, place) {
  const { x, y } = toScreen(view, size, place);
  return x > 0 && y > 0 && x < size.width && y < size.height;
}

/** The place at a point of the screen, with the decimals that a pixel can distinguish. */
export function toPlace(view, { width, height }, point) {
  const pixels = pixelsOf(view.zoom);
  const y = between(view.y + (point.y - height / 2) / pixels, 0, 1);
  const { latitude, longitude } = unproject({ x: view.x + (point.x - width / 2) / pixels, y });
  const digits = between(Math.ceil(Math.log10(pixels / 360)), 0, 6);
  const rounded = (degrees) => Number(degrees.toFixed(digits));
  return { latitude: rounded(latitude), longitude: rounded(longitude) };
}

/** The view moved by a number of screen pixels. */
export function panned(view, size, right, down) {
  const pixels = pixelsOf(view.zoom);
  return kept({ ...view, x: view.x + right / pixels, y: view.y + down / pixels }, size);
}

/** The view at another zoom, with the place at a point of the screen unmoved. */
export function zoomed(view, size, zoom, point = { x: size.width / 2, y: size.height / 2 }) {
  const next = between(zoom, Math.max(0, Math.log2(Math.max(size.width, size.height) / TILE)), ZOOM_MAX);
  const share = 1 / pixelsOf(view.zoom) - 1 / pixelsOf(next);
  const x = view.x + (point.x - size.width / 2) * share;
  const y = view.y + (point.y - size.height / 2) * share;
  return kept({ x, y, zoom: next }, size);
}

/**
 * The view that shows all places with a margin of `margin` pixels; without places the whole world. Places on both sides
 * of 180° count as near.
 * @param closest the zoom for a single place, or for places at the same address.
 */
export function fitted(places, size, closest = 12, margin = 48) {
  if (!places.length) return kept({ x: 0.5, y: 0.4, zoom: 0 }, size);
  const points = places.map(project);
  const across = narrowest(points.map(({ x }) => within(x)));
  const top = Math.min(...points.map(({ y }) => y));
  const bottom = Math.max(...points.map(({ y }) => y));
  const zoomFor = (pixels, share) => (share ? Math.log2(Math.max(1, pixels - 2 * margin) / share / TILE) : closest);
  const zoom = Math.min(closest, zoomFor(size.width, across.width), zoomFor(size.height, bottom - top));
  return kept({ x: across.start + across.width / 2, y: (top + bottom) / 2, zoom }, size);
}

/** The narrowest range around the world that includes all positions, `{ start, width }`. */
function narrowest(all) {
  const sorted = [...all].sort((a, b) => a - b);
  let [start, gap] = [sorted[0], 1 - (sorted.at(-1) - sorted[0])];
  for (let index = 1; index < sorted.length; index += 1) {
    if (sorted[index] - sorted[index - 1] <= gap) continue;
    gap = sorted[index] - sorted[index - 1];
    start = sorted[index];
  }
  return { start, width: 1 - gap };
}

/**
 * The tiles in a view, `{ z, x, y, column, left, top, size }`: their names and screen positions. `column` is `x`
 * counted across repetitions of the world.
 */
export function tiles(view, { width, height }) {
  const z = Math.round(view.zoom);
  const size = pixelsOf(view.zoom) / 2 ** z;
  const [left, top] = [view.x * 2 ** z * size - width / 2, view.y * 2 ** z * size - height / 2];
  const found = [];
  for (let row = Math.max(0, Math.floor(top / size)); row < 2 ** z && row * size < top + height; row += 1) {
    for (let column = Math.floor(left / size); column * size < left + width; column += 1) {
      const x = ((column % 2 ** z) + 2 ** z) % 2 ** z;
      found.push({ z, x, y: row, column, left: column * size - left, top: row * size - top, size });
    }
  }
  return found;
}

/** Metres per pixel at the centre of a view. */
export function metresPerPixel(view) {
  const { latitude } = unproject(view);
  return (EQUATOR * Math.cos((latitude * Math.PI) / 180)) / pixelsOf(view.zoom);
}

/** A round distance for the scale and its length, `{ metres, pixels }`, at most `pixelsMax` pixels. */
export function scaleBar(view, pixelsMax) {
  const each = metresPerPixel(view);
  const most = each * pixelsMax;
  const power = 10 ** Math.floor(Math.log10(most));
  const metres = [5, 2, 1].map((factor) => factor * power).find((length) => length <= most);
  return { metres, pixels: metres / each };
}
