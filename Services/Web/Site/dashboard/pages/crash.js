// One issue: its place in the code, versions and devices, the breadcrumbs, and the actions on it.

import { ask } from '../../shared/api.js';
import { h } from '../../shared/dom.js';
import '../../shared/elements/chart.js';
import { table } from '../../shared/elements/table.js';
import { range } from '../../shared/figures/range.js';
import { date, dateTime, exactTime, moment, number } from '../../shared/format.js';
import { t } from '../../shared/i18n.js';
import { breadcrumbsOf, deviceOf, exceptionsOf, tagsOf } from '../crashes/event.js';
import { reportsByDay } from '../crashes/figures.js';
import { ignore, levelTag, reopen, resolve, statusTag } from '../crashes/shared.js';
import { runs } from '../shell/areas.js';
import { heading } from '../lists/listing.js';

/** Versions in the chart and its table. */
const RELEASES = 20;

export async function render({ params, router, signal, redraw }) {
  const issue = await ask('crashIssue', { issueId: params.id }, signal);
  return [
    h('a.back', { href: router.back('/crashes') }, `← ${t('area.crashes')}`),
    heading(
      issue.title || t('crash.untitled'),
      [statusTag(issue), ' ', levelTag(issue), ' ', h('span.small', issue.culprit ?? '')],
      h('div.actions', actions(issue, redraw)),
    ),
    h(
      'div.columns',
      h('div.stack', stack(issue), breadcrumbs(issue.event), reports(issue, router)),
      h('div.stack', facts(issue), trend(issue, signal), releases(issue), device(issue.event)),
    ),
  ];
}

function actions(issue, redraw) {
  // Support may read crashes; only developers decide about them.
  if (!runs('developers')) return null;
  const button = (kind, key, work) =>
    h(`button${kind}`, { type: 'button', onclick: () => work(issue, redraw).then((done) => done && redraw()) }, t(key));
  const isOpen = ['unresolved', 'regression'].includes(issue.status);
  return isOpen
    ? [button('', 'crash.ignore', ignore), button('.primary', 'crash.resolve', resolve)]
    : button('', 'crash.reopen', reopen);
}

function card(title, ...content) {
  return h('section.card', h('header', h('h2', title)), content);
}

function stack(issue) {
  const thrown = exceptionsOf(issue.event);
  const plain = (issue.stack ?? []).map((line) => h('li.call', h('code', line)));
  if (!thrown.some(({ frames }) => frames.length))
    return card(t('crash.stack'), plain.length ? h('ol.frames', plain) : h('p.nothing', t('crash.noStack')));
  return card(
    t('crash.stack'),
    thrown.map(({ title, frames }, index) => [
      title ? h('h3.thrown', index ? t('crash.causedBy', { title }) : title) : null,
      h(
        'ol.frames',
        frames.map((frame, place) => frameItem(frame, place === 0 && index === 0)),
      ),
    ]),
  );
}

function frameItem({ call, place, isOwn, source }, isFirst) {
  const line = [
    h('code', call),
    place ? h('span.soft.small', ` ${place}`) : null,
    isOwn ? h('span.tag.calm', t('crash.own')) : null,
  ];
  if (!source.length) return h('li.call', line);
  const code = source.map(({ number, code, isHere }) =>
    h(isHere ? 'mark' : 'span', number ? h('i', String(number).padStart(5)) : null, `${code}\n`),
  );
  return h(
    'li.call',
    h('details', { open: isFirst }, h('summary', line), h('pre', { tabindex: 0, 'aria-label': place || call }, code)),
  );
}

function breadcrumbs(event) {
  const crumbs = breadcrumbsOf(event);
  if (!crumbs.length) return null;
  const item = ({ at, kind, words, isBad }) =>
    h(
      `li${isBad ? '.bad' : '.done'}`,
      h('strong', kind || t('crash.step')),
      at ? h('p.soft.small', exactTime(at)) : null,
      words ? h('p.small.words', words) : null,
    );
  return card(t('crash.breadcrumbs'), h('ol.timeline', crumbs.map(item)));
}

function reports(issue, router) {
  const shown = table(
    [
      { title: t('crash.at'), lead: true, cell: (event) => dateTime(event.receivedAt) },
      { title: t('crash.release'), cell: (event) => event.release || '–' },
      { title: t('crash.platform'), cell: (event) => event.platform || '–' },
      {
        title: t('order.customer'),
        cell: ({ userId }) =>
          userId ? h('a', { href: router.href(`/customers/${encodeURIComponent(userId)}`) }, userId) : '–',
      },
      { title: t('crash.message'), narrow: false, cell: (event) => h('span.words', event.message ?? '') },
    ],
    { label: t('crash.reports'), id: (event) => event.id },
  );
  shown.rows = issue.events ?? [];
  return h('section.stack', h('h2', t('crash.reports')), shown);
}

function facts(issue) {
  const row = (title, value) => (value === '' || value === undefined ? null : h('div', h('dt', title), h('dd', value)));
  return card(
    t('customer.facts'),
    h(
      'dl.facts',
      row(t('crash.count'), number(issue.count)),
      row(t('crash.users'), number(issue.users)),
      row(t('crash.firstSeen'), dateTime(issue.firstSeen)),
      row(t('crash.lastSeen'), dateTime(issue.lastSeen)),
      row(t('crash.resolvedIn'), issue.resolvedIn),
      row(t('crash.platform'), issue.platform),
    ),
  );
}

/** The reports of the last thirty days. */
function trend({ issueId }, signal) {
  return reportsByDay({ stretch: range(), signal }, { issueId });
}

/** Versions in the order of their first report. */
function releases(issue) {
  const known = (issue.releases ?? [])
    .slice(0, RELEASES)
    .sort((a, b) => moment(a.firstSeen) - moment(b.firstSeen))
    .map((one) => ({
      label: one.release || t('crash.noRelease'),
      // The name of the app is the same in all versions and would leave no room for the difference.
      tick: one.release.split('@').pop() || one.release || t('crash.noRelease'),
      value: one.count,
      since: date(one.firstSeen),
    }));
  if (!known.length) return null;
  const title = t('crash.byRelease');
  const picture = document.createElement('s-bar-chart').show(known, {
    title,
    value: number,
    short: number,
    summary: t('crash.since', { date: known[0].since }),
  });
  return card(title, picture);
}

function device(event) {
  const known = deviceOf(event);
  const tags = tagsOf(event);
  if (!known.length && !tags.length) return null;
  const row = ([title, value]) => h('div', h('dt', title), h('dd', value));
  return card(
    t('crash.device'),
    h('p.soft.small', t('crash.newestReport')),
    h(
      'dl.facts',
      known.map(([key, value]) => row([t(`crash.on.${key}`), value])),
      tags.map(row),
    ),
  );
}
