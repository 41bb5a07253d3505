// The projection of maps: web Mercator (EPSG:3857), as tiles of pictures have it. The world is a square from 0 to 1,
// whose upper left corner is at 180° west and about 85° north; at zoom 0 it has 256 pixels on the screen, and twice as
// many at each further one. A view is `{ x, y, zoom }`: the place in its middle in the world, and the zoom.

export const TILE = 256;
export const ZOOM_MAX = 19;
/** Beyond it the world would not be a square. */
export const LATITUDE_MAX = (Math.atan(Math.sinh(Math.PI)) * 180) / Math.PI;
/** Metres around the equator, as the projection has them. */
const EQUATOR = 2 * Math.PI * 6378137;

const between = (value, least, most) => Math.max(least, Math.min(most, value));
const pixelsOf = (zoom) => TILE * 2 ** zoom;
/** A place of the world that goes on to the left and right, in the one from 0 to 1. */
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

/** The view with nothing beside the world in it: it goes on to the left and right, above and below it ends. */
export function kept(view, { width, height }) {
  const zoom = between(view.zoom, Math.max(0, Math.log2(Math.max(width, height) / TILE)), ZOOM_MAX);
  const half = height / 2 / pixelsOf(zoom);
  return { x: within(view.x), y: between(view.y, half, 1 - half), zoom };
}

/** Where a place is on the screen: of all its pictures in a world that goes on, the one nearest to the middle. */
export function toScreen(view, { width, height }, place) {
  const { x, y } = project(place);
  const right = within(x - view.x + 0.5) - 0.5;
  return { x: width / 2 + right * pixelsOf(view.zoom), y: height / 2 + (y - view.y) * pixelsOf(view.zoom) };
}

export function isSeen(view, size, place) {
  const { x, y } = toScreen(view, size, place);
  return x > 0 && y > 0 && x < size.width && y < size.height;
}

/** The place at a point of the screen, in as many digits as a pixel tells apart. */
export function toPlace(view, { width, height }, point) {
  const pixels = pixelsOf(view.zoom);
  const y = between(view.y + (point.y - height / 2) / pixels, 0, 1);
  const { latitude, longitude } = unproject({ x: view.x + (point.x - width / 2) / pixels, y });
  const digits = between(Math.ceil(Math.log10(pixels / 360)), 0, 6);
  const rounded = (degrees) => Number(degrees.toFixed(digits));
  return { latitude: rounded(latitude), longitude: rounded(longitude) };
}

/** The view after so many pixels of the screen to the right and down. */
export function panned(view, size, right, down) {
  const pixels = pixelsOf(view.zoom);
  return kept({ ...view, x: view.x + right / pixels, y: view.y + down / pixels }, size);
}

/** The view at another zoom, in which what is at a point of the screen stays there. */
export function zoomed(view, size, zoom, point = { x: size.width / 2, y: size.height / 2 }) {
  const next = between(zoom, Math.max(0, Math.log2(Math.max(size.width, size.height) / TILE)), ZOOM_MAX);
  const share = 1 / pixelsOf(view.zoom) - 1 / pixelsOf(next);
  const x = view.x + (point.x - size.width / 2) * share;
  const y = view.y + (point.y - size.height / 2) * share;
  return kept({ x, y, zoom: next }, size);
}

/**
 * The view in which all places are to be seen, none nearer to an edge than `margin` pixels; that of the whole world
 * where there is none. Places on both sides of 180° are near each other.
 * @param closest the zoom that one place, or places at the same address, are looked at with.
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

/** The shortest way around the world that has all of these in it, `{ start, width }`. */
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
 * The tiles that a view shows, `{ z, x, y, column, left, top, size }`: their names, and where they are on the screen.
 * `column` is `x` in a world that goes on to both sides.
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

/** Metres that a pixel in the middle of a view stands for. */
export function metresPerPixel(view) {
  const { latitude } = unproject(view);
  return (EQUATOR * Math.cos((latitude * Math.PI) / 180)) / pixelsOf(view.zoom);
}

/** A round distance for the scale of a map and its length, `{ metres, pixels }`, at most so many pixels. */
export function scaleBar(view, pixelsMax) {
  const each = metresPerPixel(view);
  const most = each * pixelsMax;
  const power = 10 ** Math.floor(Math.log10(most));
  const metres = [5, 2, 1].map((factor) => factor * power).find((length) => length <= most);
  return { metres, pixels: metres / each };
}
