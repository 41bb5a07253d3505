// Crashes of the apps: equal crashes are one issue, latest first; and their figures.

import { ask } from '../../shared/api.js';
import { h } from '../../shared/dom.js';
import { table } from '../../shared/elements/table.js';
import { presets, range } from '../../shared/figures/range.js';
import { ago, moment, number } from '../../shared/format.js';
import { t } from '../../shared/i18n.js';
import { server } from '../../shared/settings.js';
import { crashFigures } from '../crashes/figures.js';
import { projectList } from '../crashes/projects.js';
import { levelTag, statusTag } from '../crashes/shared.js';
import { viewBar, wantedColumns } from '../lists/list-views.js';
import { counted, heading, stateChips } from '../lists/listing.js';
import { searchField } from '../lists/search-field.js';

const LIMIT = 200;
/** Each choice with the states it includes; none means all. */
const choices = {
  '': ['unresolved', 'regression'],
  regression: ['regression'],
  resolved: ['resolved'],
  ignored: ['ignored'],
  all: [null],
};

const sheets = ['', 'figures', 'projects'];

export async function render(view) {
  const { router, query, signal, redraw } = view;
  const go = (change) => router.go('/crashes', { ...query, ...change }, { replace: true });
  const sheet = sheets.includes(query.sheet) ? query.sheet : '';
  const release = (query.release ?? '').trim();
  const asked = { ...(query.project ? { projectId: query.project } : {}), ...(release ? { release } : {}) };
  const [projects, issues] = await Promise.all([
    ask('crashProjects', {}, signal),
    sheet ? null : issuesOf(query, asked, signal),
  ]);
  const names = sheets.map((name) => [name, t(`crashes.sheet.${name || 'issues'}`)]);
  const filters = [
    sheet ? null : searchField(t('crashes.search'), query.search, (search) => go({ search })),
    searchField(t('crashes.release'), query.release, (next) => go({ release: next })),
    projects.length > 1 ? projectChoice(projects, query.project, go) : null,
  ];
  const note = () => t('analytics.note', { zone: server.timeZone });
  return [
    heading(t('area.crashes'), issues ? counted(issues.key, issues.count) : note()),
    h(
      'div.bar',
      stateChips(t('crashes.sheet'), names, sheet, (next) => go({ sheet: next })),
    ),
    sheet === 'projects' ? projectList(projects, redraw) : h('div.bar', filters),
    sheet === 'figures' ? figures(query, asked, go, signal) : null,
    issues ? await issueList(issues, go, view, projects) : null,
  ];
}

function figures(query, asked, go, signal) {
  const stretch = { ...range(query), interval: 'day' };
  const choices = presets.filter((days) => days > 1).map((days) => [days, t('analytics.days', { n: days })]);
  return [
    h(
      'div.bar',
      stateChips(t('analytics.range'), choices, stretch.preset, (days) => go({ days })),
    ),
    crashFigures({ stretch, signal }, asked),
  ];
}

async function issuesOf(query, asked, signal) {
  const show = Object.hasOwn(choices, query.show ?? '') ? (query.show ?? '') : '';
  const search = (query.search ?? '').trim();
  const all = search ? { ...asked, search } : asked;
  return { show, key: `crashes.count.${show || 'open'}`, ...(await found(choices[show], all, signal)) };
}

async function issueList({ show, issues, count }, go, view, projects) {
  const columns = columnsOf(view.router, projects);
  const views = await viewBar('crashes', view, columns);
  return [
    h(
      'div.bar',
      stateChips(
        t('crash.state'),
        Object.keys(choices).map((key) => [key, t(`crashes.show.${key || 'open'}`)]),
        show,
        (next) => go({ show: next }),
      ),
    ),
    views,
    list(issues, wantedColumns(columns, view.query.columns), view.router),
    count > issues.length ? h('p.soft.small', counted('crashes.more', LIMIT)) : null,
  ];
}

async function found(statuses, wanted, signal) {
  const asked = statuses.map((status) =>
    ask('crashIssues', { limit: LIMIT, count: true, ...(status ? { status } : {}), ...wanted }, signal),
  );
  const answers = await Promise.all(asked);
  return {
    count: answers.reduce((sum, { count }) => sum + count, 0),
    issues: answers
      .flatMap(({ results }) => results)
      .sort((a, b) => moment(b.lastSeen) - moment(a.lastSeen))
      .slice(0, LIMIT),
  };
}

function projectChoice(projects, chosen, go) {
  return h(
    'select.narrow',
    { 'aria-label': t('crashes.project'), onchange: (event) => go({ project: event.target.value }) },
    h('option', { value: '' }, t('crashes.everyProject')),
    projects.map(({ projectId, name }) =>
      h('option', { value: projectId, selected: projectId === chosen }, name || projectId),
    ),
  );
}

function columnsOf(router, projects) {
  const names = new Map(projects.map(({ projectId, name }) => [projectId, name]));
  const project = {
    name: 'project',
    title: t('crashes.project'),
    narrow: false,
    cell: (issue) => names.get(issue.projectId) ?? issue.projectId,
  };
  return [
    {
      title: t('crash.issue'),
      lead: true,
      cell: (issue) =>
        h(
          'div.issue',
          h('a', { href: router.href(`/crashes/${issue.issueId}`) }, issue.title || t('crash.untitled')),
          h('span.soft.small', issue.culprit ?? ''),
        ),
    },
    { name: 'state', title: t('crash.state'), cell: statusTag },
    { name: 'level', title: t('crash.level'), cell: levelTag },
    { name: 'count', title: t('crash.count'), end: true, cell: (issue) => number(issue.count) },
    { name: 'users', title: t('crash.users'), end: true, cell: (issue) => number(issue.users) },
    ...(projects.length > 1 ? [project] : []),
    { name: 'lastSeen', title: t('crash.lastSeen'), cell: (issue) => ago(issue.lastSeen) },
  ];
}

function list(issues, columns, router) {
  const shown = table(columns, {
    label: t('area.crashes'),
    id: (issue) => issue.issueId,
    empty: t('crashes.none'),
    open: (issue) => router.go(`/crashes/${issue.issueId}`),
  });
  shown.rows = issues;
  return shown;
}
