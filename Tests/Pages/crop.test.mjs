// The crop of a photo: it remains within the photo and keeps its shape, and the corner opposite to a dragged one does
// not move.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load } from './pages.mjs';

const { cornerAt, isWhole, largest, LEAST, moved, resized, sizeOf, squared, viewOf } = await load('pictures/part.js');

const photo = { width: 400, height: 200 };
const part = { x: 100, y: 50, width: 120, height: 60 };
const lowerRight = { x: 1, y: 1 };

/** The crop has integer coordinates within the photo and is not empty. */
function isWithin({ x, y, width, height }) {
  const whole = [x, y, width, height].every(Number.isInteger);
  return whole && x >= 0 && y >= 0 && width > 0 && height > 0 && x + width <= 400 && y + height <= 200;
}

test('it begins with the whole photo or the square in its middle', () => {
  assert.deepEqual(largest(photo, false), { x: 0, y: 0, width: 400, height: 200 });
  assert.deepEqual(largest(photo, true), { x: 100, y: 0, width: 200, height: 200 });
  assert.ok(isWhole(largest(photo, false), photo));
  assert.ok(!isWhole(largest(photo, true), photo));
});

test('it moves as far as the edges', () => {
  assert.deepEqual(moved(part, photo, 10.4, -7.6), { ...part, x: 110, y: 42 });
  assert.deepEqual(moved(part, photo, -1000, 1000), { ...part, x: 0, y: 140 });
  assert.deepEqual(moved(part, photo, 1000, -1000), { ...part, x: 280, y: 0 });
});

test('each corner can be dragged, the one across stays', () => {
  assert.deepEqual(resized(part, photo, lowerRight, 20, 10, false), { x: 100, y: 50, width: 140, height: 70 });
  assert.deepEqual(resized(part, photo, { x: 0, y: 0 }, -20, -10, false), { x: 80, y: 40, width: 140, height: 70 });
  assert.deepEqual(resized(part, photo, { x: 1, y: 0 }, 20, -10, false), { x: 100, y: 40, width: 140, height: 70 });
  assert.deepEqual(resized(part, photo, { x: 0, y: 1 }, -20, 10, false), { x: 80, y: 50, width: 140, height: 70 });
});

test('it is not dragged beyond the photo, nor to nothing', () => {
  assert.deepEqual(resized(part, photo, lowerRight, 1000, 1000, false), { x: 100, y: 50, width: 300, height: 150 });
  assert.deepEqual(resized(part, photo, { x: 0, y: 0 }, 1000, 1000, false), {
    x: 220 - LEAST,
    y: 110 - LEAST,
    width: LEAST,
    height: LEAST,
  });
  const tiny = { width: 5, height: 3 };
  const least = resized({ x: 0, y: 0, ...tiny }, tiny, lowerRight, -100, -100, true);
  assert.deepEqual(least, { x: 0, y: 0, width: 3, height: 3 });
});

test('a square stays one, wherever it is dragged', () => {
  const square = { x: 150, y: 20, width: 100, height: 100 };
  for (const corner of [lowerRight, { x: 0, y: 0 }, { x: 1, y: 0 }, { x: 0, y: 1 }]) {
    for (const [right, down] of [
      [33.3, 5],
      [-20, 90],
      [999, 0],
      [-999, -999],
      [0, 999],
    ]) {
      const next = resized(square, photo, corner, right, down, true);
      assert.equal(next.width, next.height);
      assert.ok(isWithin(next), JSON.stringify(next));
      // The corner opposite to the dragged one.
      assert.equal(next.x + (corner.x ? 0 : next.width), corner.x ? 150 : 250);
      assert.equal(next.y + (corner.y ? 0 : next.height), corner.y ? 20 : 120);
    }
  }
});

test('a part that becomes square keeps its middle', () => {
  assert.deepEqual(squared(part), { x: 130, y: 50, width: 60, height: 60 });
  assert.deepEqual(squared({ x: 1, y: 2, width: 3, height: 8 }), { x: 1, y: 5, width: 3, height: 3 });
});

test('the view has the photo, and at a zoom the part in its middle where that can be', () => {
  assert.deepEqual(viewOf(part, photo, 1), { x: 0, y: 0, width: 400, height: 200 });
  assert.deepEqual(viewOf(part, photo, 2), { x: 60, y: 30, width: 200, height: 100 });
  assert.deepEqual(viewOf({ ...part, x: 0, y: 140 }, photo, 4), { x: 10, y: 145, width: 100, height: 50 });
  assert.deepEqual(viewOf({ ...part, x: 0, y: 140 }, photo, 1.25), { x: 0, y: 40, width: 320, height: 160 });
});

test('what is made of it is at most so long', () => {
  assert.deepEqual(sizeOf(part, 4096), { width: 120, height: 60 });
  assert.deepEqual(sizeOf({ width: 8000, height: 6000 }, 4000), { width: 4000, height: 3000 });
  assert.deepEqual(sizeOf({ width: 100000, height: 3 }, 4000), { width: 4000, height: 1 });
});

test('a corner is taken within reach, the nearest one', () => {
  assert.deepEqual(cornerAt(part, { x: 222, y: 108 }, 10), lowerRight);
  assert.deepEqual(cornerAt(part, { x: 98, y: 52 }, 10), { x: 0, y: 0 });
  assert.equal(cornerAt(part, { x: 160, y: 80 }, 10), null);
  assert.deepEqual(cornerAt({ x: 0, y: 0, width: 16, height: 16 }, { x: 15, y: 1 }, 100), { x: 1, y: 0 });
});
