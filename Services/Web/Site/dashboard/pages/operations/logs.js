// The log of all processes: searched, or followed live. Each response has the cursor of the next request, so that no
// line is missed or repeated, also after a pause.

import { call } from '../../../shared/api.js';
import { h } from '../../../shared/dom.js';
import { errorText } from '../../../shared/elements/toast.js';
import { exactTime, number } from '../../../shared/format.js';
import { t } from '../../../shared/i18n.js';
import { fromLocal } from '../../../shared/zone.js';
import { stateChips } from '../../lists/listing.js';
import { searchField } from '../../lists/search-field.js';
import { LINES_MAX, LogFeed } from '../../operations/log-feed.js';
import { every, guarded, head } from '../../operations/shared.js';

const PAUSE = 2000;
const FIRST = 500;
const levels = ['verbose', 'info', 'warn', 'error'];
const services = 'gateway catalog users bag payments mail push analytics crash cloud web'.split(' ');

export async function render({ router, query, signal }) {
  const level = levels.includes(query.level) ? query.level : 'info';
  const go = (change) => router.go('/operations/logs', { ...query, ...change }, { replace: true });
  return guarded(router, 'logs', async () => {
    const view = new LogView({ level, ...filtersOf(query) }, signal);
    await view.ask();
    // A past period gets no new lines.
    if (!query.until) view.follow();
    return [
      head(router, 'logs', view.button),
      h(
        'div.bar',
        stateChips(
          t('ops.level'),
          levels.map((name) => [name, t(`ops.level.${name}`)]),
          level,
          (next) => go({ level: next }),
        ),
        serviceChoice(query.service, go),
      ),
      h(
        'div.bar',
        searchField(t('ops.searchLog'), query.text, (text) => go({ text })),
        time('from', query, go),
        time('until', query, go),
      ),
      view.state,
      view.list,
    ];
  });
}

function filtersOf({ text = '', service = '', from, until }) {
  const at = (value = '') => {
    const wanted = fromLocal(value);
    return Number.isNaN(wanted.getTime()) ? '' : wanted.toISOString();
  };
  const all = { text: text.trim(), service, from: at(from), until: at(until) };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value));
}

function serviceChoice(chosen, go) {
  return h(
    'select.narrow',
    { 'aria-label': t('ops.process'), onchange: (event) => go({ service: event.target.value }) },
    h('option', { value: '' }, t('ops.everyProcess')),
    services.map((name) => h('option', { value: name, selected: name === chosen }, name)),
  );
}

const time = (name, query, go) =>
  h(
    'label.check',
    t(`ops.${name}`),
    h('input.narrow', {
      type: 'datetime-local',
      value: query[name] ?? '',
      onchange: (event) => go({ [name]: event.target.value }),
    }),
  );

class LogView {
  #feed = new LogFeed();
  #filters;
  #signal;
  #isPaused = false;
  #isAsking = false;
  state = h('p.soft.small', { role: 'status' });
  #lines = h('ol');
  list = h('div.log', { tabindex: 0, role: 'region', 'aria-label': t('ops.tab.logs') }, this.#lines);
  button = null;

  constructor(filters, signal) {
    this.#filters = filters;
    this.#signal = signal;
  }

  /** Requests new lines until there are none left. */
  async ask() {
    if (this.#isAsking) return;
    this.#isAsking = true;
    try {
      for (let isMore = true; isMore && !this.#isPaused && !this.#signal.aborted; ) {
        const after = this.#feed.cursor;
        const query = { ...this.#filters, size: FIRST, ...(after ? { after } : {}) };
        const news = this.#feed.take(after, await call('GET', '/operations/log', { query, signal: this.#signal }));
        if (news) this.#show(news);
        isMore = Boolean(news?.isMore);
      }
      this.#tell();
    } finally {
      this.#isAsking = false;
    }
  }

  follow() {
    this.button = h(
      'button',
      { type: 'button', 'aria-pressed': 'false', onclick: () => this.#pause() },
      t('ops.pause'),
    );
    every(PAUSE, this.#signal, async () => {
      if (this.#isPaused || document.hidden) return;
      try {
        await this.ask();
      } catch (error) {
        // The next round repeats the request.
        if (!this.#signal.aborted) this.state.textContent = errorText(error);
      }
    });
  }

  #pause() {
    this.#isPaused = !this.#isPaused;
    this.button.setAttribute('aria-pressed', String(this.#isPaused));
    this.#tell();
    if (!this.#isPaused) this.ask().catch(() => {});
  }

  #tell() {
    const count = number(this.#feed.lines.length);
    const key = this.#isPaused ? 'ops.paused' : this.button ? 'ops.following' : 'ops.lines';
    this.state.textContent = t(key, { count, max: number(LINES_MAX) });
  }

  /** Scrolls to the end only when the operator was there already. */
  #show({ added, removed }) {
    const { list } = this;
    const isAtEnd = list.scrollHeight - list.scrollTop - list.clientHeight < 40;
    for (let index = 0; index < removed; index += 1) this.#lines.firstElementChild?.remove();
    this.#lines.append(...added.map(line));
    if (isAtEnd) requestAnimationFrame(() => list.scrollTo(0, list.scrollHeight));
  }
}

function line({ isGap, timestamp, level, process, message, method, url, metadata }) {
  if (isGap) return h('li.gap', t('ops.gap'));
  const kind = { error: 'bad', warn: 'warn' }[level] ?? '';
  const more = Object.entries(metadata ?? {}).map(([name, value]) => `${name}=${value}`);
  const request = [method, url].filter(Boolean).join(' ');
  return h(
    `li${kind ? `.${kind}` : ''}`,
    h('time', { datetime: timestamp }, exactTime(timestamp)),
    h('span.level', t(`ops.level.${level}`)),
    h('span.from', process),
    h('span.words', [message, request, ...more].filter(Boolean).join('  ')),
  );
}
