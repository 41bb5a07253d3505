// Map geometry: places to screen positions and back, views, tiles, lines, the scale.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load } from './pages.mjs';

const {
  fitted,
  isSeen,
  kept,
  LATITUDE_MAX,
  metresPerPixel,
  panned,
  project,
  scaleBar,
  tiles,
  toPlace,
  toScreen,
  unproject,
  zoomed,
  ZOOM_MAX,
} = await load('map/mercator.js');
const { graticule, labelled } = await load('map/graticule.js');
const { degrees, distance } = await load('format.js');

const size = { width: 800, height: 400 };
const place = (latitude, longitude) => ({ latitude, longitude });
const bern = place(46.948, 7.4474);
const berlin = place(52.52, 13.405);
const near = (value, wanted, by = 1e-9) => assert.ok(Math.abs(value - wanted) <= by, `${value} is not ${wanted}`);

test('places are where web Mercator has them', () => {
  assert.deepEqual(project(place(0, 0)), { x: 0.5, y: 0.5 });
  near(LATITUDE_MAX, 85.0511287798, 1e-9);
  near(project(place(LATITUDE_MAX, -180)).y, 0);
  near(project(place(-90, 180)).y, 1);
  // The tile of Berlin at zoom 10, as https://wiki.openstreetmap.org/wiki/Slippy_map_tilenames counts.
  const { x, y } = project(berlin);
  assert.deepEqual([Math.floor(x * 1024), Math.floor(y * 1024)], [550, 335]);
});

test('a place goes to the screen and back', () => {
  for (const one of [bern, berlin, place(-33.87, 151.21), place(71, -179.9), place(-84.9, 0)]) {
    const back = unproject(project(one));
    near(back.latitude, one.latitude);
    near(back.longitude, one.longitude);
    const view = kept({ ...project(one), zoom: 14 }, size);
    const at = toScreen(view, size, one);
    const again = toPlace(view, size, at);
    near(again.latitude, one.latitude, 1e-4);
    near(again.longitude, one.longitude, 1e-4);
  }
});

test('a place has as many digits as a pixel tells apart', () => {
  const digits = (zoom) => {
    const { longitude } = toPlace({ ...project(bern), zoom }, size, { x: 123.4, y: 56.7 });
    return String(longitude).split('.')[1]?.length ?? 0;
  };
  assert.ok(digits(2) <= 1);
  assert.ok(digits(12) <= 4);
  assert.ok(digits(19) <= 6);
});

test('what is beyond 180 degrees is near', () => {
  const view = kept({ ...project(place(0, 179)), zoom: 6 }, size);
  const { x } = toScreen(view, size, place(0, -179));
  near(x, 400 + (2 / 360) * 256 * 64, 1e-6);
  assert.ok(isSeen(view, size, place(0, -179)));
  assert.ok(!isSeen(view, size, place(0, 0)));
  near(toPlace(view, size, { x, y: 200 }).longitude, -179, 0.01);
});

test('a view never has more than the world in it', () => {
  const least = kept({ x: 3.25, y: -1, zoom: -5 }, size);
  near(256 * 2 ** least.zoom, 800, 1e-6);
  near(least.x, 0.25);
  near(least.y, 0.25);
  assert.equal(kept({ x: 0, y: 0, zoom: 99 }, size).zoom, ZOOM_MAX);
  near(panned({ x: 0.5, y: 0.5, zoom: 5 }, size, 256 * 32, 0).x, 0.5);
  near(panned({ x: 0.5, y: 0.5, zoom: 5 }, size, 0, 1e9).y, 1 - 200 / (256 * 32));
});

test('what is under the finger stays there', () => {
  const view = kept({ ...project(bern), zoom: 8 }, size);
  const point = { x: 700, y: 90 };
  for (const zoom of [9, 12.5, 7.3]) {
    const next = zoomed(view, size, zoom, point);
    assert.equal(next.zoom, zoom);
    const before = unproject({ x: view.x + 300 / (256 * 2 ** 8), y: view.y - 110 / (256 * 2 ** 8) });
    const at = toScreen(next, size, before);
    near(at.x, point.x, 1e-6);
    near(at.y, point.y, 1e-6);
  }
});

test('a view fits all places, also across 180 degrees', () => {
  const inside = (places) => {
    const view = fitted(places, size);
    for (const one of places) {
      const { x, y } = toScreen(view, size, one);
      assert.ok(x >= 47.9 && x <= 752.1 && y >= 47.9 && y <= 352.1, `${JSON.stringify(one)} at ${x}, ${y}`);
    }
    return view;
  };
  const europe = inside([bern, berlin, place(41.9, 12.5)]);
  assert.ok(europe.zoom > 4 && europe.zoom < 6, `${europe.zoom}`);
  const pacific = inside([place(-18.1, 178.4), place(-13.8, -171.8)]);
  assert.ok(pacific.zoom > 4, `${pacific.zoom}`);
  assert.equal(fitted([bern], size).zoom, 12);
  assert.equal(fitted([bern, bern], size).zoom, 12);
  near(256 * 2 ** fitted([], size).zoom, 800, 1e-6);
});

test('tiles cover the map and are named as their hosts have them', () => {
  const view = kept({ ...project(berlin), zoom: 10 }, size);
  const found = tiles(view, size);
  assert.ok(found.length <= 15);
  assert.ok(found.some(({ z, x, y }) => z === 10 && x === 550 && y === 335));
  for (const tile of found) assert.equal(tile.size, 256);
  const covers = (x, y) =>
    found.filter(({ left, top }) => x >= left && x < left + 256 && y >= top && y < top + 256).length;
  for (const [x, y] of [
    [0, 0],
    [799, 399],
    [400, 200],
    [0, 399],
  ])
    assert.equal(covers(x, y), 1);
  // The world repeats horizontally, but only existing columns are requested.
  for (const { x, y, z } of tiles(kept({ x: 0, y: 0, zoom: 3.4 }, size), size)) {
    assert.ok(z === 3 && x >= 0 && x < 8 && y >= 0 && y < 8, `${z}/${x}/${y}`);
  }
});

test('lines are at round degrees with room between them', () => {
  for (let zoom = 2; zoom <= ZOOM_MAX; zoom += 0.5) {
    const view = kept({ ...project(bern), zoom }, size);
    const { meridians, parallels, digits } = graticule(view, size);
    assert.ok(meridians.length >= 1 && meridians.length < 15, `${meridians.length} at ${zoom}`);
    assert.ok(parallels.length < 15, `${parallels.length} at ${zoom}`);
    for (const { degree, x } of meridians) {
      assert.equal(Number(degree.toFixed(digits)), degree);
      assert.ok(degree >= -180 && degree < 180);
      near(x, toScreen(view, size, place(0, degree)).x, 1e-3);
    }
    for (const { degree, y } of parallels) near(y, toScreen(view, size, place(degree, 0)).y, 1e-6);
  }
  const across = graticule(kept({ ...project(place(0, 179)), zoom: 4 }, size), size).meridians;
  assert.ok(across.some(({ degree }) => degree === 170) && across.some(({ degree }) => degree === -170));
});

test('the scale is a round distance', () => {
  near(metresPerPixel({ x: 0.5, y: 0.5, zoom: 0 }), 156543.03, 0.01);
  const { metres, pixels } = scaleBar({ ...project(bern), zoom: 12 }, 120);
  assert.equal(metres, 2000);
  assert.ok(pixels <= 120 && pixels > 40);
  assert.equal(distance(2000), '2 km');
  assert.equal(distance(500), '500 m');
  assert.equal(degrees(7.4474), '7.4474');
});

test('names do not cover each other', () => {
  const points = [
    { x: 100, y: 100, name: 'First' },
    { x: 105, y: 102, name: 'Second' },
    { x: 100, y: 200, name: 'Third' },
    { x: -5, y: 100, name: 'Outside' },
  ];
  assert.deepEqual(
    labelled(points, size).map(({ name }) => name),
    ['First', 'Third'],
  );
  const [last] = labelled([{ x: 790, y: 100, name: 'At the edge' }], size);
  assert.ok(last.isBefore);
});
