// The schemas of classes at the server. They are for operators; who may not ask for them goes without.

import { call } from '../../shared/api.js';
import { h } from '../../shared/dom.js';
import { t } from '../../shared/i18n.js';
import { cached, forget } from '../../shared/store.js';
import { runs } from '../areas.js';

const KEY = 'schemas';

/** Every class' schema by name; null for who may not ask. */
export async function schemas() {
  if (!runs('developers')) return null;
  return cached(KEY, async () => {
    const { results } = await call('GET', '/schemas');
    return new Map(results.map((schema) => [schema.className, schema]));
  });
}

/** One class' schema as it is now. */
export function schema(className, signal) {
  return call('GET', `/schemas/${className}`, { signal });
}

/** Adds and removes fields and indexes, or sets permissions; answers the new schema. */
export async function change(className, changes) {
  forget(KEY);
  try {
    return await call('PUT', `/schemas/${className}`, { body: { className, ...changes } });
  } finally {
    forget(KEY);
  }
}

export async function make(className, permissions) {
  const made = await call('POST', `/schemas/${className}`, {
    body: { className, classLevelPermissions: permissions },
  });
  forget(KEY);
  return made;
}

export async function drop(className) {
  await call('DELETE', `/schemas/${className}`);
  forget(KEY);
}

/** The words of a refusal that a shared module made. */
export function inWords(error) {
  return error.key ? new Error(t(error.key, error.values)) : error;
}

const tabs = { rows: '', schema: '/schema', permissions: '/permissions' };

/** The parts of a class' view. */
export function classTabs(router, className, current) {
  const link = ([name, path]) =>
    h(
      'a',
      { href: router.href(`/data/${className}${path}`), 'aria-current': name === current ? 'page' : null },
      t(`schema.tab.${name}`),
    );
  return h('nav.tabs', { 'aria-label': t('schema.tabs') }, Object.entries(tabs).map(link));
}
