// The common parts of the operations views: tabs, refusals and JSON input.

import { h } from '../../shared/dom.js';
import { t } from '../../shared/i18n.js';
import { fieldError } from '../../shared/problems.js';
import { heading } from '../lists/listing.js';
import { sees } from '../shell/areas.js';

const tabs = {
  metrics: '/operations',
  parked: '/operations/parked',
  logs: '/operations/logs',
  jobs: '/operations/jobs',
  functions: '/operations/functions',
  webhooks: '/operations/webhooks',
  config: '/operations/config',
  settings: '/operations/settings',
  backups: '/operations/backups',
  books: '/operations/books',
  audit: '/operations/audit',
};

/** Views with their own rules in `shell/areas.js`. */
const own = ['parked', 'settings', 'backups', 'books', 'audit'];

function tabsOf(router, current) {
  const link = ([name, path]) =>
    h('a', { href: router.href(path), 'aria-current': name === current ? 'page' : null }, t(`ops.tab.${name}`));
  const mine = Object.entries(tabs).filter(([name]) => sees(own.includes(name) ? name : 'operations'));
  return h('nav.tabs', { 'aria-label': t('ops.tabs') }, mine.map(link));
}

/** The head of an operations view. */
export function head(router, name, ...actions) {
  return [tabsOf(router, name), heading(t(`ops.tab.${name}`), t(`ops.note.${name}`), ...actions)];
}

/** A note in the view for a refusal that needs more rights. Other errors are thrown again. */
export function refusal(error) {
  if (!error?.isForbidden && error?.status !== 403) throw error;
  return h('p.card.problem', { role: 'alert' }, t('ops.forbidden'));
}

/** A view whose content the server may refuse. */
export async function guarded(router, name, content) {
  try {
    return await content();
  } catch (error) {
    return [head(router, name), refusal(error)];
  }
}

/** The object in a JSON text; an empty text gives an empty object. */
export function objectOf(text) {
  let value;
  try {
    value = JSON.parse(text.trim() || '{}');
  } catch {
    throw fieldError('parameters', t('data.badObject'));
  }
  if (value === null || typeof value !== 'object' || Array.isArray(value))
    throw fieldError('parameters', t('data.badObject'));
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

/** Repeats work at an interval while the view is open; after a failure it waits for the next round. */
export function every(milliseconds, signal, work) {
  const round = async () => {
    await work();
    if (!signal.aborted) setTimeout(round, milliseconds);
  };
  const timer = setTimeout(round, milliseconds);
  signal.addEventListener('abort', () => clearTimeout(timer), { once: true });
}
