// Charts: SVG, a table of the same figures for screen readers, and a reading of each point for mouse and arrow keys.

import { fill, freshId, h, svg } from '../dom.js';
import { t } from '../i18n.js';
import { cut, labelPlaces, textWidth } from './chart-labels.js';
import { scale, ticks } from './chart-scale.js';

const HEIGHT = 220;
const EDGE = { top: 12, end: 12, bottom: 26, start: 56 };
/** Pixels between the labels of the axis and the chart. */
const GAP = 10;
/** Rows of the table that are made at once; a longer table delays the page, so that its rows wait until it is opened. */
const ROWS_AT_ONCE = 400;

class Chart extends HTMLElement {
  #points = [];
  #options = {};
  #reading = h('p.reading', { 'aria-live': 'polite' });
  #place = h('div.chart', this.#reading);
  #mark = null;
  #places = null;
  #at = -1;
  #width = 720;
  /** Redraws the chart when its width changes, so that letters keep their size. */
  #sizes = new ResizeObserver(([entry]) => {
    const width = Math.round(entry.contentRect.width);
    if (!width || width === this.#width) return;
    this.#width = width;
    this.#drawPicture();
  });

  connectedCallback() {
    this.#sizes.observe(this);
  }

  disconnectedCallback() {
    this.#sizes.disconnect();
  }

  /**
   * @param points `{ label, tick, value, before }` in order; `tick` replaces a long label below the chart, `before` is
   *   the figure of the earlier period, if any.
   * @param options `{ title, value(number), short(number), summary, least }`; the caller formats numbers; the axis
   *   begins at `least`, by default at zero.
   */
  show(points, options) {
    this.#points = points;
    this.#options = options;
    this.#at = points.length - 1;
    fill(this, this.#place, this.#table());
    this.#drawPicture();
    return this;
  }

  #drawPicture() {
    const { title, summary } = this.#options;
    const picture = svg('svg', {
      viewBox: `0 0 ${this.#width} ${HEIGHT}`,
      role: 'img',
      tabindex: 0,
      'aria-label': `${title}. ${summary}`,
      onpointermove: (event) => this.#point(event),
      onpointerleave: () => this.#read(this.#points.length - 1),
      onkeydown: (event) => this.#key(event),
    });
    this.#mark = svg('g.point', { 'aria-hidden': 'true' });
    const places = this.#scale();
    this.#places = places;
    fill(picture, this.#axis(places), this.draw(this.#points, places), this.#labels(places), this.#mark);
    fill(this.#place, this.#reading, picture);
    this.#read(this.#at);
  }

  /** Wide labels of values move the chart away from the edge. */
  #scale() {
    const { least, short } = this.#options;
    const start = Math.max(
      EDGE.start,
      ...ticks(scale(this.#points, this.#width, HEIGHT, EDGE, least)).map((value) => textWidth(short(value)) + GAP),
    );
    return { ...scale(this.#points, this.#width, HEIGHT, { ...EDGE, start }, least), start };
  }

  #axis(places) {
    const { start, y } = places;
    return ticks(places).map((value) => [
      svg('line.grid', { x1: start, x2: this.#width - EDGE.end, y1: y(value), y2: y(value) }),
      svg('text.tick', { x: start - GAP, y: y(value) + 4, 'text-anchor': 'end' }, this.#options.short(value)),
    ]);
  }

  #labels(places) {
    const texts = this.#points.map(({ label, tick }) => cut(tick ?? label));
    return labelPlaces(texts.map(textWidth), places, this.#width).map(({ index, x }) =>
      svg('text.tick', { x, y: HEIGHT - 6, 'text-anchor': 'middle' }, texts[index]),
    );
  }

  #table() {
    const points = this.#points;
    const body = h('tbody');
    const row = (point) =>
      h('tr', h('th', { scope: 'row' }, point.label), h('td', this.#options.value(point.value)), this.#before(point));
    const draw = () => fill(body, points.map(row));
    if (points.length <= ROWS_AT_ONCE) draw();
    return h(
      'details.figures',
      { ontoggle: () => body.children.length || draw() },
      h('summary', t('chart.asTable')),
      h('table', h('caption.unseen', this.#options.title), body),
    );
  }

  #before({ before }) {
    if (before === undefined) return null;
    return h('td.soft', t('chart.before', { value: this.#options.value(before) }));
  }

  #point(event) {
    const box = event.currentTarget.getBoundingClientRect();
    const { slot, start } = this.#places;
    const place = ((event.clientX - box.left) / box.width) * this.#width;
    this.#read(Math.max(0, Math.min(this.#points.length - 1, Math.floor((place - start) / slot))));
  }

  #key(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    this.#read(Math.max(0, Math.min(this.#points.length - 1, this.#at + step)));
  }

  #read(index) {
    const point = this.#points[index];
    if (!point) return;
    this.#at = index;
    const { x, y } = this.#places;
    fill(
      this.#mark,
      svg('line', { x1: x(index), x2: x(index), y1: EDGE.top, y2: HEIGHT - EDGE.bottom }),
      svg('circle', { cx: x(index), cy: y(point.value), r: 4.5 }),
    );
    const before = point.before === undefined ? null : ` · ${this.#before(point).textContent}`;
    fill(this.#reading, h('strong', this.#options.value(point.value)), ' ', h('span', point.label, before));
  }
}

export class LineChart extends Chart {
  draw(points, { x, y, bottom }) {
    if (!points.length) return null;
    const id = freshId('shade');
    const path = (figure) =>
      points.map((point, at) => `${at ? 'L' : 'M'}${x(at).toFixed(1)} ${y(figure(point)).toFixed(1)}`).join('');
    const line = path((point) => point.value);
    const before = points.some((point) => point.before !== undefined)
      ? svg('path.before', { d: path((point) => point.before ?? 0) })
      : null;
    const ground = y(Math.max(0, bottom)).toFixed(1);
    const area = `${line}L${x(points.length - 1).toFixed(1)} ${ground}L${x(0).toFixed(1)} ${ground}Z`;
    const shade = svg(
      'linearGradient',
      { id, x1: 0, y1: 0, x2: 0, y2: 1 },
      svg('stop.strong', { offset: '0' }),
      svg('stop.weak', { offset: '1' }),
    );
    const shape = svg('path.area', { d: area, fill: `url(#${id})` });
    return [svg('defs', shade), shape, before, svg('path.line', { d: line })].filter(Boolean);
  }
}

export class BarChart extends Chart {
  draw(points, { x, y, slot }) {
    const width = Math.max(2, Math.min(28, slot * 0.64));
    const bar = (selector, value, index) =>
      svg(selector, {
        x: x(index) - width / 2,
        width,
        rx: Math.min(3, width / 2),
        y: Math.min(y(value), y(0)),
        height: Math.max(value ? 1 : 0, Math.abs(y(value) - y(0))),
      });
    return points.flatMap((point, index) => [
      ...(point.before === undefined ? [] : [bar('rect.barBefore', point.before, index)]),
      bar('rect.column', point.value, index),
    ]);
  }
}

customElements.define('s-line-chart', LineChart);
customElements.define('s-bar-chart', BarChart);
