// The state of the suite: each service with its figures over the last minutes, and the figures of all in the past.

import { call } from '../../../shared/api.js';
import { fill, h, svg } from '../../../shared/dom.js';
import { number } from '../../../shared/format.js';
import { hasText, t } from '../../../shared/i18n.js';
import { total } from '../../operations/parked.js';
import { pastCharts } from '../../operations/past-charts.js';
import { History } from '../../operations/rates.js';
import { every, guarded, head } from '../../operations/shared.js';

const PAUSE = 5000;
/** Kept while the page is open, so that visiting another view only leaves a gap. */
const history = new History();

export async function render({ router, signal }) {
  return guarded(router, 'metrics', async () => {
    const place = h('div.halves');
    const state = h('p.bar');
    const draw = (answer) => {
      history.add(answer);
      fill(state, overall(answer));
      fill(place, cards(answer));
    };
    draw(await ask(signal));
    every(PAUSE, signal, async () => {
      if (document.hidden) return;
      try {
        draw(await ask(signal));
      } catch (error) {
        if (!signal.aborted) fill(state, h('span.problem', { role: 'alert' }, error.message));
      }
    });
    return [head(router, 'metrics'), state, place, pastCharts(signal)];
  });
}

const ask = (signal) => call('GET', '/operations/metrics', { signal });

function overall({ services }) {
  const bad = Object.entries(services).filter(([name, { status }]) => status !== 'ok' && !isSpare(name, status));
  if (!bad.length) return h('span.tag.good', t('ops.allWell'));
  return bad.map(([name, { status, problem }]) => [
    h('span.tag.bad', `${name}: ${word(status)}`),
    problem ? h('span.small', problem) : null,
  ]);
}

/** `cloud` is not needed without cloud code. */
const isSpare = (name, status) => name === 'cloud' && status === 'missing';

const word = (status) => (hasText(`ops.status.${status}`) ? t(`ops.status.${status}`) : status);

function cards({ services, processes, requestsByReplica }) {
  const byService = new Map(processes.map((process) => [process.service, process]));
  const names = ['gateway', ...Object.keys(services).sort()];
  return names.map((name) => card(name, services[name], byService.get(name), requestsByReplica));
}

function card(name, service, process, requestsByReplica) {
  const points = history.of(name);
  const now = points.at(-1);
  const status = service?.status ?? 'ok';
  const kind = { ok: 'good', missing: isSpare(name, status) ? 'calm' : 'bad', failing: 'bad' }[status] ?? 'warn';
  const row = (title, value) =>
    value === null || value === undefined ? null : h('div', h('dt', title), h('dd', value));
  return h(
    'section.card.process',
    { 'data-process': name },
    h('header', h('h2', name), h(`span.tag.${kind}`, word(status))),
    service?.problem ? h('p.problem', service.problem) : null,
    spark(points, 'rate', t('ops.rateOf', { name })),
    h(
      'dl.facts',
      row(t('ops.rate'), now ? decimal(now.rate) : t('ops.soon')),
      row(t('ops.p50'), now ? time(now.p50) : null),
      row(t('ops.p99'), now ? time(now.p99) : null),
      row(t('ops.failed'), now ? decimal(now.failed) : null),
      row(t('ops.memory'), process ? t('ops.megabytes', { n: number(Math.round(process.memoryBytes / 1e6)) }) : null),
      row(t('ops.waiting'), service ? number(service.waiting) : null),
      row(t('ops.outbox'), process?.outbox === undefined ? null : number(process.outbox)),
      row(t('ops.tab.parked'), process?.parked ? number(total({ [name]: process.parked })) : null),
      row(t('ops.replicas'), service ? replicas(service, requestsByReplica) : null),
    ),
  );
}

const replicas = (service, sent) =>
  service.replicas.map((name) => t('ops.replica', { name, count: number(sent[name] ?? 0) })).join(', ') || '–';

const decimal = (value) => number(Math.round(value * 10) / 10);
const time = (milliseconds) => (milliseconds === null ? '–' : t('ops.milliseconds', { n: decimal(milliseconds) }));

const WIDTH = 240;
const HEIGHT = 48;

/** A small chart of the last minutes; its label has the largest and the last value. */
function spark(points, figure, title) {
  const values = points.map((point) => point[figure] ?? 0);
  const greatest = Math.max(...values, 1);
  const step = WIDTH / Math.max(values.length - 1, 1);
  const place = (value, index) =>
    `${(index * step).toFixed(1)},${(HEIGHT - 2 - (value / greatest) * (HEIGHT - 4)).toFixed(1)}`;
  const label = t('ops.spark', { title, last: decimal(values.at(-1) ?? 0), most: decimal(Math.max(...values, 0)) });
  return svg(
    'svg.spark',
    { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: 'none', role: 'img', 'aria-label': label },
    svg('polyline', { points: values.map(place).join(' ') }),
  );
}
