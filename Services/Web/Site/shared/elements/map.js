// A map of points for mouse, finger and keyboard: lines of degrees with the points on them, and below them the tiles of
// the configured host. A place can be chosen on it.

import { fill, freshId, h, svg } from '../dom.js';
import { icon } from '../icons.js';
import { t } from '../i18n.js';
import { cross, ground, pins, placeText, scaleLine, seen } from '../map/drawing.js';
import { Gestures } from '../map/gestures.js';
import { fitted, isSeen, kept, panned, project, toPlace, zoomed } from '../map/mercator.js';
import { attribution, TileLayer } from '../map/tile-layer.js';

/** Pixels that an arrow key moves the map. */
const STEP = { plain: 80, fine: 8 };
/** Pixels by which a press may miss a pin, and the distance from a pin's tip to its centre. */
const REACH = 20;
const PIN_HEIGHT = 12;

export class WorldMap extends HTMLElement {
  #points = [];
  #options = {};
  #view = null;
  #size = { width: 0, height: 0 };
  #chosen = null;
  #ground = svg('svg.ground', { 'aria-hidden': 'true' });
  #tiles = new TileLayer();
  #drawn = svg('g', { 'aria-hidden': 'true' });
  #marks = svg('svg.marks', { role: 'application', tabindex: 0, onkeydown: (event) => this.#key(event) }, this.#drawn);
  #told = h('p.told', { 'aria-live': 'polite' });
  #frame = h('div.map', this.#ground, this.#tiles.element, this.#marks);
  #sizes = new ResizeObserver(([entry]) => this.#resized(entry.contentRect));

  /**
   * @param options `{ label, hint, open(id), pick(place) }`: `open` is called with the pressed point; with `pick` the
   *   map is for choosing a place.
   */
  define(options) {
    this.#options = options;
    const hint = freshId('hint');
    this.#marks.setAttribute('aria-label', options.label);
    this.#marks.setAttribute('aria-describedby', hint);
    const button = (name, key, work) =>
      h('button.square', { type: 'button', 'aria-label': t(key), title: t(key), onclick: work }, icon(name));
    const buttons = h(
      'div.zooms',
      button('plus', 'map.closer', () => this.#zoom(1)),
      button('minus', 'map.further', () => this.#zoom(-1)),
      button('fit', 'map.all', () => this.#look(this.#whole())),
    );
    new Gestures(this.#marks, {
      pan: (right, down) => this.#pan(right, down),
      zoom: (steps, point) => this.#zoom(steps, point),
      press: (point) => this.#press(point),
    });
    fill(this.#frame, this.#ground, this.#tiles.element, this.#marks, buttons, attribution());
    fill(this, this.#frame, this.#told, h('p.hint', { id: hint }, options.hint));
    return this;
  }

  /**
   * @param points `{ id, name, place, isFaint }`; faint points are for orientation.
   * @param wanted a place that has to be visible.
   */
  show(points, wanted) {
    this.#points = points;
    if (!this.#view) return this;
    const isThere = !wanted || isSeen(this.#view, this.#size, wanted);
    this.#look(isThere ? this.#view : kept({ ...this.#view, ...project(wanted) }, this.#size));
    return this;
  }

  connectedCallback() {
    this.#sizes.observe(this.#frame);
  }

  disconnectedCallback() {
    this.#sizes.disconnect();
  }

  #resized({ width, height }) {
    if (!width || !height) return;
    this.#size = { width, height };
    this.#look(this.#view ? kept(this.#view, this.#size) : this.#whole());
  }

  /** The initial view of a map: the place that can be chosen, if there is one, otherwise all points. */
  #whole() {
    const own = this.#points.filter(({ isFaint }) => !isFaint);
    return fitted(
      (own.length ? own : this.#points).map(({ place }) => place),
      this.#size,
    );
  }

  #look(view) {
    this.#view = view;
    fill(this.#ground, ground(view, this.#size));
    this.#tiles.draw(view, this.#size);
    const points = seen(this.#points, view, this.#size);
    const middle = this.#options.pick ? cross(this.#size) : null;
    fill(this.#drawn, pins(points, this.#size, this.#chosen), scaleLine(view, this.#size), middle);
  }

  #zoom(steps, point) {
    if (this.#view) this.#look(zoomed(this.#view, this.#size, this.#view.zoom + steps, point));
  }

  #pan(right, down) {
    if (this.#view) this.#look(panned(this.#view, this.#size, right, down));
  }

  #middle() {
    return toPlace(this.#view, this.#size, { x: this.#size.width / 2, y: this.#size.height / 2 });
  }

  #press(at) {
    if (!this.#view) return;
    if (this.#options.pick) return this.#pick(toPlace(this.#view, this.#size, at));
    const far = ({ x, y }) => Math.hypot(x - at.x, y - PIN_HEIGHT - at.y);
    const nearest = seen(this.#points, this.#view, this.#size).sort((a, b) => far(a) - far(b))[0];
    if (nearest && far(nearest) <= REACH) this.#options.open?.(nearest.id);
  }

  #pick(place) {
    fill(this.#told, t('map.picked', { place: placeText(place) }));
    this.#options.pick(place);
  }

  /** Moves from point to point in order, and centres each. */
  #go(step) {
    const points = this.#points.filter(({ isFaint }) => !isFaint);
    if (!points.length) return;
    const at = points.findIndex(({ id }) => id === this.#chosen);
    this.choose(points[at < 0 && step < 0 ? points.length - 1 : (at + step + points.length) % points.length].id);
  }

  /** Centres a point that is not faint. */
  choose(chosen) {
    const points = this.#points.filter(({ isFaint }) => !isFaint);
    const next = points.findIndex(({ id }) => id === chosen);
    if (next < 0 || !this.#view) return;
    const { id, name, place } = points[next];
    this.#chosen = id;
    fill(this.#told, t('map.point', { name, place: placeText(place), index: next + 1, count: points.length }));
    this.#look(kept({ ...this.#view, ...project(place) }, this.#size));
  }

  #enter() {
    if (this.#options.pick) this.#pick(this.#middle());
    else if (this.#chosen) this.#options.open?.(this.#chosen);
  }

  #key(event) {
    if (event.altKey || event.metaKey || !this.#view) return;
    const step = event.shiftKey ? STEP.fine : STEP.plain;
    const work = {
      ArrowLeft: () => this.#pan(-step, 0),
      ArrowRight: () => this.#pan(step, 0),
      ArrowUp: () => this.#pan(0, -step),
      ArrowDown: () => this.#pan(0, step),
      '+': () => this.#zoom(1),
      '-': () => this.#zoom(-1),
      Home: () => this.#look(this.#whole()),
      PageDown: () => this.#go(1),
      PageUp: () => this.#go(-1),
      Enter: () => this.#enter(),
      ' ': () => this.#enter(),
    }[event.key];
    if (!work) return;
    event.preventDefault();
    work();
    if (this.#options.pick && event.key.startsWith('Arrow'))
      fill(this.#told, t('map.middle', { place: placeText(this.#middle()) }));
  }
}

customElements.define('s-map', WorldMap);
