// Jobs: their names, schedules and runs.

import { call } from '../../../shared/api.js';
import { h } from '../../../shared/dom.js';
import { dialog } from '../../../shared/elements/dialog.js';
import { table } from '../../../shared/elements/table.js';
import { failure, toast } from '../../../shared/elements/toast.js';
import { dateTime, moment, number } from '../../../shared/format.js';
import { hasText, t } from '../../../shared/i18n.js';
import { planJob, when } from '../../operations/job-plan.js';
import { every, guarded, head, objectOf, parametersField } from '../../operations/shared.js';

const PAUSE = 3000;
const RUNS = 50;
/** The fields of a plan that the server sets. */
const ofTheServer = ['objectId', 'createdAt', 'updatedAt', 'lastRun', 'ACL'];

export async function render({ router, signal, redraw }) {
  return guarded(router, 'jobs', async () => {
    const [{ jobs }, plans, found] = await Promise.all([
      call('GET', '/cloud_code/jobs/data', { signal }),
      call('GET', '/cloud_code/jobs', { signal }),
      runs(signal),
    ]);
    const history = historyTable();
    history.rows = found;
    const refresh = () =>
      runs(signal)
        .then((rows) => renew(history, rows))
        .catch(() => {});
    every(PAUSE, signal, async () => {
      if (!document.hidden) await refresh();
    });
    const after = (done) => done && redraw();
    const plan = h('button', { type: 'button', onclick: () => planJob(jobs).then(after) }, t('ops.plan'));
    return [
      head(router, 'jobs', jobs.length ? h('div.actions', plan) : null),
      h('div.stack', jobTable(jobs, refresh), h('h2', t('ops.plans')), planTable(plans, after)),
      h('h2.spaced', t('ops.runs')),
      history,
    ];
  });
}

const runs = async (signal) => (await call('GET', '/operations/jobs', { query: { limit: RUNS }, signal })).results;

/** Rows that did not change are not redrawn, because one may have the focus. */
function renew(shown, rows) {
  const before = new Map(shown.rows.map((row) => [row.objectId, row]));
  const isSame = rows.length === shown.rows.length && rows.every((row, at) => row.objectId === shown.rows[at].objectId);
  if (!isSame) {
    shown.rows = rows;
    return;
  }
  for (const row of rows) if (row.updatedAt !== before.get(row.objectId)?.updatedAt) shown.renew(row);
}

function jobTable(jobs, refresh) {
  const shown = table(
    [
      { title: t('ops.job'), lead: true, cell: (name) => h('code', name) },
      { title: t('ops.summary'), cell: (name) => (hasText(`ops.jobs.${name}`) ? t(`ops.jobs.${name}`) : '') },
      {
        title: '',
        end: true,
        cell: (name) =>
          h(
            'button',
            { type: 'button', 'aria-label': t('ops.runNamed', { name }), onclick: () => start(name).then(refresh) },
            t('ops.run'),
          ),
      },
    ],
    { label: t('ops.tab.jobs'), id: (name) => name, empty: t('ops.noJobs') },
  );
  shown.rows = jobs;
  return shown;
}

function start(name) {
  return dialog({
    title: t('ops.runNamed', { name }),
    confirm: t('ops.run'),
    fields: [parametersField()],
    async submit({ parameters }) {
      await call('POST', `/jobs/${encodeURIComponent(name)}`, { body: objectOf(parameters) });
      toast(t('ops.jobStarted', { name }));
    },
  });
}

function planTable(plans, after) {
  const shown = table(
    [
      { title: t('ops.job'), lead: true, cell: ({ jobName }) => h('code', jobName) },
      { title: t('ops.description'), cell: ({ description }) => description || '–' },
      { title: t('ops.when'), cell: when },
      { title: t('ops.startAfter'), cell: ({ startAfter }) => (startAfter ? dateTime(startAfter) : '–') },
      {
        title: '',
        cell: (plan) =>
          h(
            'button.danger',
            {
              type: 'button',
              'aria-label': t('ops.deleteNamed', { name: plan.jobName }),
              onclick: () => forget(plan, after).then(after),
            },
            t('action.delete'),
          ),
      },
    ],
    { label: t('ops.plans'), id: (plan) => plan.objectId, empty: t('ops.noPlans') },
  );
  shown.rows = plans;
  return shown;
}

function forget(plan, after) {
  const takeBack = async () => {
    const schedule = Object.entries(plan).filter(([name]) => !ofTheServer.includes(name));
    await call('POST', '/cloud_code/jobs', { body: { job_schedule: Object.fromEntries(schedule) } });
    await after(true);
  };
  return dialog({
    title: t('ops.deleteNamed', { name: plan.jobName }),
    text: t('ops.deletePlan'),
    confirm: t('action.delete'),
    isDanger: true,
    async submit() {
      await call('DELETE', `/cloud_code/jobs/${plan.objectId}`);
      toast(t('ops.deleted', { name: plan.jobName }), 'good', takeBack);
    },
  });
}

function historyTable() {
  return table(
    [
      { title: t('ops.job'), lead: true, cell: ({ jobName }) => h('code', jobName) },
      { title: t('ops.state'), cell: ({ status }) => tag(status) },
      { title: t('ops.message'), cell: ({ message }) => h('span.words', message ?? '') },
      { title: t('ops.started'), cell: ({ createdAt }) => dateTime(createdAt) },
      { title: t('ops.took'), end: true, cell: took },
      { title: '', cell: (run) => (run.status === 'running' ? stopButton(run) : '') },
    ],
    { label: t('ops.runs'), id: (run) => run.objectId, empty: t('ops.noRuns') },
  );
}

function tag(status) {
  const kind = { running: 'calm', succeeded: 'good', failed: 'bad' }[status] ?? '';
  const word = hasText(`ops.job.${status}`) ? t(`ops.job.${status}`) : String(status ?? '');
  return h(`span.tag${kind ? `.${kind}` : ''}`, word);
}

function took({ createdAt, finishedAt }) {
  if (!finishedAt) return '–';
  const seconds = (moment(finishedAt) - moment(createdAt)) / 1000;
  return t('ops.seconds', { n: number(Math.round(seconds * 10) / 10) });
}

function stopButton(run) {
  const stop = async () => {
    try {
      await call('DELETE', `/jobs/${encodeURIComponent(run.objectId)}`);
      toast(t('ops.jobStopped', { name: run.jobName }));
    } catch (error) {
      failure(error);
    }
  };
  const name = t('ops.stopNamed', { name: run.jobName });
  return h('button.danger', { type: 'button', 'aria-label': name, onclick: stop }, t('ops.stop'));
}
