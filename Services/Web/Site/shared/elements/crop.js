// A photo with a selection, made with the mouse, a finger or the keyboard. The photo is drawn on a canvas, the
// selection above it as SVG.

import { fill, freshId, h, svg } from '../dom.js';
import { number } from '../format.js';
import { t } from '../i18n.js';
import { cornerAt, corners, largest, moved, placeOf, resized, squared, viewOf, ZOOM_MAX } from '../pictures/part.js';

/** Screen pixels around a corner in which a press grabs it, and the drawn size of a corner. */
const REACH = 24;
const CORNER = 7;

export class Crop extends HTMLElement {
  #photo = null;
  #part = null;
  #isSquare = false;
  #zoom = 1;
  #view = null;
  #drag = null;
  #canvas = h('canvas', { 'aria-hidden': 'true' });
  #marks = svg('svg', { preserveAspectRatio: 'none', role: 'application', tabindex: 0 });
  #stage = h('div.stage', this.#canvas, this.#marks);
  #reading = h('p.hint', { 'aria-live': 'polite' });
  #controls = {};
  #sizes = new ResizeObserver(() => this.#draw());

  /**
   * @param photo an ImageBitmap.
   * @param chosen an earlier selection, `{ part, isSquare }`, or nothing.
   */
  show(photo, chosen) {
    this.#photo = photo;
    this.#isSquare = chosen?.isSquare ?? false;
    this.#part = chosen?.part ?? largest(photo, false);
    const ratio = photo.width / photo.height;
    this.#stage.style.aspectRatio = String(ratio);
    this.#stage.style.width = `min(100%, calc(45dvh * ${ratio}))`;
    const hint = freshId('hint');
    this.#marks.setAttribute('aria-label', t('crop.label'));
    this.#marks.setAttribute('aria-describedby', hint);
    fill(this, this.#toolbar(), this.#stage, this.#reading, h('p.hint', { id: hint }, t('crop.hint')));
    this.#change(this.#part);
    return this;
  }

  /** The selection, `{ part, isSquare }`. */
  get chosen() {
    return { part: this.#part, isSquare: this.#isSquare };
  }

  connectedCallback() {
    for (const [name, listener] of this.#listeners) this.#marks.addEventListener(name, listener);
    this.#sizes.observe(this.#stage);
  }

  disconnectedCallback() {
    for (const [name, listener] of this.#listeners) this.#marks.removeEventListener(name, listener);
    this.#sizes.disconnect();
  }

  #toolbar() {
    const shape = (isSquare, text) =>
      h('button', { type: 'button', onclick: () => this.#shape(isSquare), 'aria-pressed': 'false' }, text);
    this.#controls.shapes = [shape(false, t('crop.free')), shape(true, t('crop.square'))];
    const id = freshId('zoom');
    const zoom = h('input', { id, type: 'range', min: 1, max: ZOOM_MAX, step: 0.5 });
    zoom.addEventListener('input', () => this.#zoomTo(Number(zoom.value)));
    this.#controls.zoom = zoom;
    return h(
      'div.bar',
      h('div.chips', { role: 'group', 'aria-label': t('crop.shape') }, this.#controls.shapes),
      h('label.zoom', { for: id }, t('crop.zoom'), zoom),
      h('button.quiet', { type: 'button', onclick: () => this.#whole() }, t('crop.whole')),
    );
  }

  #shape(isSquare) {
    this.#isSquare = isSquare;
    this.#change(isSquare ? squared(this.#part) : this.#part);
  }

  #whole() {
    this.#zoom = 1;
    this.#change(largest(this.#photo, this.#isSquare));
  }

  #zoomTo(zoom) {
    this.#zoom = Math.max(1, Math.min(ZOOM_MAX, zoom));
    this.#change(this.#part);
  }

  /** The photo does not move while the selection is dragged; otherwise it follows the selection. */
  #change(part) {
    this.#part = part;
    if (!this.#drag) this.#view = viewOf(part, this.#photo, this.#zoom);
    for (const [index, button] of this.#controls.shapes.entries())
      button.setAttribute('aria-pressed', String(this.#isSquare === Boolean(index)));
    this.#controls.zoom.value = this.#zoom;
    this.#controls.zoom.setAttribute('aria-valuetext', `${number(this.#zoom)}×`);
    const values = { ...part, photoWidth: this.#photo.width, photoHeight: this.#photo.height };
    const words = Object.entries(values).map(([name, value]) => [name, number(value)]);
    fill(this.#reading, t('crop.reading', Object.fromEntries(words)));
    this.#draw();
  }

  #draw() {
    const { width, height } = this.#stage.getBoundingClientRect();
    if (!width || !this.#photo) return;
    const view = this.#view;
    this.#canvas.width = Math.round(width * devicePixelRatio);
    this.#canvas.height = Math.round(height * devicePixelRatio);
    const pen = this.#canvas.getContext('2d');
    pen.imageSmoothingQuality = 'high';
    const { width: right, height: bottom } = this.#canvas;
    pen.drawImage(this.#photo, view.x, view.y, view.width, view.height, 0, 0, right, bottom);
    const { x, y, width: wide, height: high } = this.#part;
    const shade = `M${view.x} ${view.y}h${view.width}v${view.height}h${-view.width}z M${x} ${y}v${high}h${wide}v${-high}z`;
    const size = CORNER * (view.width / width);
    this.#marks.setAttribute('viewBox', `${view.x} ${view.y} ${view.width} ${view.height}`);
    fill(
      this.#marks,
      svg('path.shade', { d: shade, 'fill-rule': 'evenodd' }),
      svg('rect.edge', { x, y, width: wide, height: high }),
      svg('rect.part', { x, y, width: wide, height: high }),
      corners.map((corner) => {
        const place = placeOf(this.#part, corner);
        return svg('circle.corner', { cx: place.x, cy: place.y, r: size });
      }),
    );
  }

  /** Converts a point of the screen to one of the photo. */
  #place(event) {
    const box = this.#marks.getBoundingClientRect();
    const view = this.#view;
    return {
      x: view.x + ((event.clientX - box.left) / box.width) * view.width,
      y: view.y + ((event.clientY - box.top) / box.height) * view.height,
    };
  }

  #begin = (event) => {
    if (event.button || this.#drag) return;
    const from = this.#place(event);
    const reach = REACH * (this.#view.width / this.#marks.getBoundingClientRect().width);
    this.#marks.setPointerCapture(event.pointerId);
    this.#drag = { from, part: this.#part, corner: cornerAt(this.#part, from, reach), pointer: event.pointerId };
  };

  #move = (event) => {
    if (event.pointerId !== this.#drag?.pointer) return;
    const { from, part, corner } = this.#drag;
    const at = this.#place(event);
    const [right, down] = [at.x - from.x, at.y - from.y];
    this.#change(
      corner ? resized(part, this.#photo, corner, right, down, this.#isSquare) : moved(part, this.#photo, right, down),
    );
  };

  #end = (event) => {
    if (event.pointerId !== this.#drag?.pointer) return;
    this.#drag = null;
    this.#change(this.#part);
  };

  #key = (event) => {
    const [right, down] =
      { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key] ?? [];
    const zoom = { '+': 0.5, '-': -0.5 }[event.key];
    if (right === undefined && !zoom && event.key !== 'Home') return;
    event.preventDefault();
    if (zoom) return this.#zoomTo(this.#zoom + zoom);
    if (event.key === 'Home') return this.#whole();
    const step = event.ctrlKey ? 1 : Math.max(1, Math.round(Math.max(this.#photo.width, this.#photo.height) / 100));
    const last = { x: 1, y: 1 };
    this.#change(
      event.shiftKey
        ? resized(this.#part, this.#photo, last, right * step, down * step, this.#isSquare)
        : moved(this.#part, this.#photo, right * step, down * step),
    );
  };

  #listeners = [
    ['pointerdown', this.#begin],
    ['pointermove', this.#move],
    ['pointerup', this.#end],
    ['pointercancel', this.#end],
    ['keydown', this.#key],
  ];
}

customElements.define('s-crop', Crop);
