// Usage of the app: opens, people and devices, and the events that it reports.

import { ask } from '../../shared/api.js';
import { h } from '../../shared/dom.js';
import { field, suggest } from '../../shared/elements/dialog.js';
import { parameters, total } from '../../shared/figures/range.js';
import { day, number, portion } from '../../shared/format.js';
import { t } from '../../shared/i18n.js';
import { card, nameForm, ranking, ranks, trend } from './cards.js';

const TOP = 20;
const EVENT_BYTES = 100;

const series = (metric, interval, signal, more) => async (stretch) =>
  (await ask('analyticsSeries', { metric, ...parameters(stretch, interval), ...more }, signal)).points;

export function usage(view) {
  const { stretch, signal } = view;
  const active = ask('analyticsActiveUsers', parameters(stretch), signal);
  active.catch(() => {});
  const days = { ...view, stretch: { ...stretch, interval: 'day' } };
  return [
    h(
      'div.halves',
      trend(view, {
        name: 'opens',
        title: t('analytics.opens'),
        element: 's-bar-chart',
        load: series('opens', stretch.interval, signal),
      }),
      unique(view, active),
      trend(days, {
        name: 'active-users',
        title: t('analytics.users'),
        isSum: false,
        load: series('activeUsers', 'day', signal),
      }),
      trend(days, {
        name: 'active-devices',
        title: t('analytics.devices'),
        isSum: false,
        load: series('activeInstallations', 'day', signal),
      }),
    ),
  ];
}

/** A person who came on several days counts once, so that the days do not add up to the total. */
function unique(view, active) {
  return card(view, 'unique-users', t('analytics.unique'), async () => {
    const { users, installations, weeks, months } = await active;
    const rows = [
      [t('analytics.whole'), users, installations],
      ...months.map((month) => [t('analytics.month', { day: day(month.at) }), month.users, month.installations]),
      ...weeks.map((week) => [t('analytics.week', { day: day(week.at) }), week.users, week.installations]),
    ];
    const titles = [t('analytics.time'), t('analytics.users'), t('analytics.devices')];
    const cells = rows.map(([label, value, devices]) => ({ label, value, note: number(devices) }));
    return { content: ranks(t('analytics.unique'), titles, cells), titles, rows };
  });
}

/** The events that were counted, or the dimensions of one, as suggestions; none without an answer. */
async function known(name, signal) {
  const answer = await ask('analyticsNames', name ? { name } : {}, signal).catch(() => null);
  return (answer?.names ?? []).map((one) => one.name);
}

export async function events(view, query, go, router) {
  const { event, dimension, value } = query;
  const { stretch, signal } = view;
  const [names, dimensions] = await Promise.all([known('', signal), event ? known(event, signal) : []]);
  const parts = field({
    name: 'dimension',
    label: t('analytics.dimension'),
    value: dimension,
    suggestions: dimensions,
  });
  const onchange = async ({ target }) => {
    if (target.value) suggest(parts.querySelector('datalist'), await known(target.value, signal));
  };
  const form = nameForm(
    [
      field({
        name: 'event',
        label: t('analytics.event'),
        value: event,
        required: true,
        maxlength: EVENT_BYTES,
        suggestions: names,
        onchange,
      }),
      parts,
    ],
    t('analytics.show'),
    (names) => go({ ...names, value: '' }),
  );
  if (!event) return [form, h('p.hint', t('analytics.eventHint'))];
  const title = (text) => (value ? `${event} · ${dimension} = ${value}` : text);
  const chosen = dimension && value;
  return [
    form,
    h(
      'div.halves',
      chosen
        ? trend(
            { ...view, stretch: { ...stretch, interval: 'day' } },
            {
              name: 'event-value',
              title: title(event),
              load: async (wanted) => {
                const more = { dimension, value, ...parameters(wanted) };
                const answer = await ask('analyticsSeries', { metric: `event:${event}`, ...more }, signal);
                return answer.series[0]?.points ?? [];
              },
            },
          )
        : trend(view, { name: 'event', title: event, load: series(`event:${event}`, stretch.interval, signal) }),
      dimension ? breakdown(view, { event, dimension }, query, router) : null,
    ),
  ];
}

/** Each value of a dimension links to its own chart. */
function breakdown(view, { event, dimension }, query, router) {
  const title = t('analytics.byDimension', { event, dimension });
  return ranking(view, 'event-breakdown', title, [dimension, t('analytics.events')], async (stretch) => {
    const found = await ask(
      'analyticsTop',
      { name: event, dimension, limit: TOP, ...parameters(stretch) },
      view.signal,
    );
    return found.map(({ value, count }) => ({
      label: value,
      value: count,
      link: h('a', { href: router.href('/analytics', { ...query, value }) }, value),
    }));
  });
}

const steps = ['view', 'bag', 'checkout'];

/** From viewing a product to a paid order: the app's events, counted each time, and the paid orders. */
export async function funnel(view, query, go) {
  const suggestions = await known('', view.signal);
  const form = nameForm(
    steps.map((name) =>
      field({ name, label: t(`analytics.step.${name}`), value: query[name], maxlength: EVENT_BYTES, suggestions }),
    ),
    t('analytics.show'),
    go,
  );
  const asked = steps.filter((name) => query[name]);
  const title = t('analytics.funnel');
  const columns = [t('analytics.step'), t('analytics.times'), t('analytics.ofStepBefore')];
  const load = async (stretch) => {
    const counts = await Promise.all(
      asked.map(async (name) => ({
        label: `${t(`analytics.stepName.${name}`)} (${query[name]})`,
        value: total(await series(`event:${query[name]}`, 'day', view.signal)(stretch)),
      })),
    );
    const sold = await ask('analyticsSales', parameters(stretch, 'day'), view.signal);
    const paid = { label: t('analytics.paid'), value: sold.reduce((sum, one) => sum + one.totals.orders, 0) };
    return [...counts, paid].map((step, index, all) => {
      const before = all[index - 1]?.value;
      return { ...step, note: before ? portion(step.value / before) : '' };
    });
  };
  return [form, h('p.hint.spaced', t('analytics.funnelHint')), ranking(view, 'funnel', title, columns, load)];
}

export function requests(view) {
  const { signal, stretch } = view;
  const by = (key) =>
    ranking(
      view,
      `requests-by-${key}`,
      t(`analytics.by.${key}`),
      [t(`analytics.key.${key}`), t('analytics.requests'), t('analytics.failed')],
      async (wanted) => {
        const found = await ask('analyticsRequests', { groupBy: key, limit: TOP, ...parameters(wanted) }, signal);
        return found.map((group) => ({ label: group[key], value: group.count, note: group.failed }));
      },
    );
  return [
    h(
      'div.halves',
      trend(view, {
        name: 'requests',
        title: t('analytics.requests'),
        element: 's-bar-chart',
        load: series('requests', stretch.interval, signal),
      }),
      ['class', 'verb', 'deviceType', 'sdk'].map(by),
    ),
  ];
}
