// What the views of operations have in common: the way from one to the other, what somebody may not see, and JSON that
// people write.

import { h } from '../../shared/dom.js';
import { t } from '../../shared/i18n.js';
import { sees } from '../areas.js';
import { heading } from '../listing.js';

const tabs = {
  metrics: '/operations',
  logs: '/operations/logs',
  jobs: '/operations/jobs',
  functions: '/operations/functions',
  webhooks: '/operations/webhooks',
  config: '/operations/config',
  settings: '/operations/settings',
  backups: '/operations/backups',
  audit: '/operations/audit',
};

/** Sheets that are the admins' alone, as `areas.js` has it. */
const own = ['settings', 'backups', 'audit'];

function tabsOf(router, current) {
  const link = ([name, path]) =>
    h('a', { href: router.href(path), 'aria-current': name === current ? 'page' : null }, t(`ops.tab.${name}`));
  const mine = Object.entries(tabs).filter(([name]) => sees(own.includes(name) ? name : 'operations'));
  return h('nav.tabs', { 'aria-label': t('ops.tabs') }, mine.map(link));
}

/** The head of a view of operations. */
export function head(router, name, ...actions) {
  return [tabsOf(router, name), heading(t(`ops.tab.${name}`), t(`ops.note.${name}`), ...actions)];
}

/** A refusal of a route that wants more rights: said in the view, which stays. Other errors are thrown on. */
export function refusal(error) {
  if (!error?.isForbidden && error?.status !== 403) throw error;
  return h('p.card.problem', { role: 'alert' }, t('ops.forbidden'));
}

/** A view whose content may be refused to who looks. */
export async function guarded(router, name, content) {
  try {
    return await content();
  } catch (error) {
    return [head(router, name), refusal(error)];
  }
}

/** An object that somebody wrote as JSON; nothing written is an empty one. */
export function objectOf(text) {
  let value;
  try {
    value = JSON.parse(text.trim() || '{}');
  } catch {
    throw new Error(t('data.badObject'));
  }
  if (value === null || typeof value !== 'object' || Array.isArray(value)) throw new Error(t('data.badObject'));
  return value;
}

export const parametersField = (value = '{}') => ({
  name: 'parameters',
  type: 'textarea',
  rows: 6,
  label: t('ops.parameters'),
  value,
  hint: t('ops.jsonHint'),
});

/** Does something every some milliseconds while the view is open; a failure waits for the next time. */
export function every(milliseconds, signal, work) {
  const round = async () => {
    await work();
    if (!signal.aborted) setTimeout(round, milliseconds);
  };
  const timer = setTimeout(round, milliseconds);
  signal.addEventListener('abort', () => clearTimeout(timer), { once: true });
}
