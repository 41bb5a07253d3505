// The selected part of a photo: a rectangle of whole pixels, and the visible section of the photo meanwhile.

/** Minimum length of a side in pixels. */
export const LEAST = 16;
export const ZOOM_MAX = 8;

const between = (value, least, most) => Math.max(least, Math.min(most, value));

/** The largest selection of a shape: the whole photo, or the square in its centre. */
export function largest(photo, isSquare) {
  const side = Math.min(photo.width, photo.height);
  const width = isSquare ? side : photo.width;
  const height = isSquare ? side : photo.height;
  return { x: Math.round((photo.width - width) / 2), y: Math.round((photo.height - height) / 2), width, height };
}

export function isWhole(part, photo) {
  return part.width === photo.width && part.height === photo.height;
}

/** The selection moved; it stops at the photo's edges. */
export function moved(part, photo, right, down) {
  return {
    ...part,
    x: between(Math.round(part.x + right), 0, photo.width - part.width),
    y: between(Math.round(part.y + down), 0, photo.height - part.height),
  };
}

/**
 * The selection with one corner moved; the opposite corner stays.
 * @param corner `{ x, y }`: 0 is left or top, 1 is right or bottom.
 */
export function resized(part, photo, corner, right, down, isSquare) {
  const least = Math.min(LEAST, photo.width, photo.height);
  const roomX = corner.x ? photo.width - part.x : part.x + part.width;
  const roomY = corner.y ? photo.height - part.y : part.y + part.height;
  let width = part.width + (corner.x ? right : -right);
  let height = part.height + (corner.y ? down : -down);
  if (isSquare) {
    // The side that was moved further determines the square.
    const side = Math.abs(width - part.width) >= Math.abs(height - part.height) ? width : height;
    width = between(side, least, Math.min(roomX, roomY));
    height = width;
  }
  width = Math.round(between(width, least, roomX));
  height = Math.round(between(height, least, roomY));
  return {
    x: corner.x ? part.x : part.x + part.width - width,
    y: corner.y ? part.y : part.y + part.height - height,
    width,
    height,
  };
}

/** The largest square within a part, around its centre. */
export function squared(part) {
  const side = Math.min(part.width, part.height);
  return {
    x: part.x + Math.round((part.width - side) / 2),
    y: part.y + Math.round((part.height - side) / 2),
    width: side,
    height: side,
  };
}

/** The visible section of a photo: all of it, or at a zoom the area around a part's centre, within the photo. */
export function viewOf(part, photo, zoom) {
  const width = photo.width / zoom;
  const height = photo.height / zoom;
  return {
    x: between(part.x + (part.width - width) / 2, 0, photo.width - width),
    y: between(part.y + (part.height - height) / 2, 0, photo.height - height),
    width,
    height,
  };
}

/** The size of the resulting picture: the part's, or smaller when a side would be longer than `most`. */
export function sizeOf(part, most) {
  const share = Math.min(1, most / Math.max(part.width, part.height));
  return { width: Math.max(1, Math.round(part.width * share)), height: Math.max(1, Math.round(part.height * share)) };
}

/** The corner of a part nearest to a point; null when none is within reach. */
export function cornerAt(part, point, reach) {
  let nearest = null;
  let least = reach;
  for (const corner of corners) {
    const { x, y } = placeOf(part, corner);
    const distance = Math.hypot(point.x - x, point.y - y);
    if (distance > least) continue;
    least = distance;
    nearest = corner;
  }
  return nearest;
}

export const corners = [0, 1].flatMap((y) => [0, 1].map((x) => ({ x, y })));

/** The position of a corner in the photo. */
export function placeOf(part, corner) {
  return { x: part.x + corner.x * part.width, y: part.y + corner.y * part.height };
}
