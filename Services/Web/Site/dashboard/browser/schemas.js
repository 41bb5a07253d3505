// The schemas of classes. Only developers may read them; the views work without them for other operators.

import { call } from '../../shared/api.js';
import { h } from '../../shared/dom.js';
import { t } from '../../shared/i18n.js';
import { cached, forget } from '../../shared/store.js';
import { runs } from '../shell/areas.js';

const KEY = 'schemas';

/** The schema of every class by name; null without the right to read them. */
export async function schemas() {
  if (!runs('developers')) return null;
  return cached(KEY, async () => {
    const { results } = await call('GET', '/schemas');
    return new Map(results.map((schema) => [schema.className, schema]));
  });
}

/** The current schema of one class. */
export function schema(className, signal) {
  return call('GET', `/schemas/${className}`, { signal });
}

/** Adds and removes fields and indexes, or sets permissions; returns the new schema. */
export async function change(className, changes) {
  forget(KEY);
  try {
    return await call('PUT', `/schemas/${className}`, { body: { className, ...changes } });
  } finally {
    forget(KEY);
  }
}

/** Converts a column to another type; unless `wish.apply` is set it only returns the effect. */
export async function convert(className, wish) {
  try {
    return await call('POST', `/schemas/${className}/convert`, { body: wish });
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

/** A translated error for the refusal of a shared module. */
export function inWords(error) {
  return error.key ? new Error(t(error.key, error.values)) : error;
}

const tabs = { rows: '', schema: '/schema', permissions: '/permissions' };

/** The tabs of a class' views. */
export function classTabs(router, className, current) {
  const link = ([name, path]) =>
    h(
      'a',
      { href: router.href(`/data/${className}${path}`), 'aria-current': name === current ? 'page' : null },
      t(`schema.tab.${name}`),
    );
  return h('nav.tabs', { 'aria-label': t('schema.tabs') }, Object.entries(tabs).map(link));
}
