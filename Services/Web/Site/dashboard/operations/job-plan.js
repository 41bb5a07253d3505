// The schedule of a job: its description and its form.

import { call } from '../../shared/api.js';
import { dialog } from '../../shared/elements/dialog.js';
import { toast } from '../../shared/elements/toast.js';
import { t } from '../../shared/i18n.js';
import { fieldError } from '../../shared/problems.js';
import { fromLocal } from '../../shared/zone.js';
import { objectOf, parametersField } from './shared.js';

/** A schedule in words. */
export function when({ repeatMinutes, timeOfDay, daysOfWeek, cron }) {
  if (cron) return t('ops.cronIs', { cron });
  if (repeatMinutes) return t('ops.everyMinutes', { n: repeatMinutes });
  const days = daysOfWeek?.length || 7;
  if (timeOfDay)
    return days === 7 ? t('ops.everyDay', { time: timeOfDay }) : t('ops.daily', { time: timeOfDay, n: days });
  return t('ops.once');
}

/**
 * The schedule from a form.
 * @throws a translated error.
 */
export function planOf({ jobName, description, startAfter, repeat, value, parameters }) {
  const plan = { jobName, params: JSON.stringify(objectOf(parameters ?? '')) };
  if (description?.trim()) plan.description = description.trim();
  const at = startAfter ? fromLocal(startAfter) : new Date();
  if (Number.isNaN(at.getTime())) throw fieldError('startAfter', t('ops.badTime'));
  plan.startAfter = at.toISOString();
  const text = (value ?? '').trim();
  if (repeat === 'minutes') {
    if (!/^[1-9]\d{0,6}$/.test(text)) throw fieldError('value', t('ops.badMinutes'));
    plan.repeatMinutes = Number(text);
  } else if (repeat === 'daily') {
    if (!/^([01]\d|2[0-3]):[0-5]\d$/.test(text)) throw fieldError('value', t('ops.badDaily'));
    plan.timeOfDay = text;
  } else if (repeat === 'cron') {
    if (text.split(/\s+/).length !== 5) throw fieldError('value', t('ops.badCron'));
    plan.cron = text;
  }
  return plan;
}

export function planJob(jobs) {
  const repeats = ['once', 'minutes', 'daily', 'cron'];
  return dialog({
    title: t('ops.plan'),
    fields: [
      {
        name: 'jobName',
        type: 'select',
        label: t('ops.job'),
        required: true,
        options: jobs.map((name) => [name, name]),
      },
      { name: 'description', label: t('ops.description'), maxlength: 200 },
      { name: 'startAfter', type: 'datetime-local', label: t('ops.startAfter') },
      {
        name: 'repeat',
        type: 'select',
        label: t('ops.when'),
        required: true,
        options: repeats.map((name) => [name, t(`ops.repeat.${name}`)]),
      },
      { name: 'value', label: t('ops.repeatValue'), hint: t('ops.repeatHint') },
      parametersField(),
    ],
    async submit(values) {
      const plan = planOf(values);
      await call('POST', '/cloud_code/jobs', { body: { job_schedule: plan } });
      toast(t('ops.planned', { name: plan.jobName }));
    },
  });
}
