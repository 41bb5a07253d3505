// Viewing rows as another user would see them, without a session of that user: the server removes from the operator's
// own response what the user may not see, and accepts no changes.

import { ask, find } from '../../shared/api.js';
import { fill, h } from '../../shared/dom.js';
import { dialog, field } from '../../shared/elements/dialog.js';
import { failure } from '../../shared/elements/toast.js';
import { t } from '../../shared/i18n.js';
import { fieldError } from '../../shared/problems.js';
import { rounds } from '../../shared/waiting.js';
import { filter } from '../customers/totals.js';

export const GUEST = '*';
const ID = /^[A-Za-z0-9_-]{1,64}$/;
const PAUSE = 300;
const CUSTOMERS = 40;
/** Requests for one page: each may return no visible row. */
const TRIES = 20;

export const isViewer = (name) => name === GUEST || ID.test(name ?? '');
export const viewerName = (name) => (name === GUEST ? t('viewer.guest') : name);

/** A page of rows as the viewer sees them, filled from as many server pages as needed. */
export async function pageAs(viewer, className, { after, limit, ...options }) {
  const results = [];
  let cursor = after;
  for (let turn = 0; turn < TRIES && results.length < limit; turn += 1) {
    const page = await find(className, { ...options, viewer, after: cursor, limit: limit - results.length });
    results.push(...page.results);
    cursor = page.cursor;
    if (!cursor) break;
  }
  return { results, cursor };
}

/** The line that names the viewer. */
export function viewerBar(viewer, stop) {
  return h(
    'p.card.bar.viewer',
    { role: 'status' },
    h('span', t('viewer.now', { who: viewerName(viewer) })),
    h('button', { type: 'button', onclick: stop }, t('viewer.stop')),
  );
}

/** @param choose is called with a user's id or `*`. */
export function askViewer(choose) {
  const list = h('div.picks', { role: 'radiogroup', 'aria-label': t('viewer.customers') });
  const search = field({ name: 'search', label: t('viewer.search') });
  const id = field({ name: 'id', label: t('viewer.id'), hint: t('viewer.idHint') });
  const guest = field({ name: 'guest', type: 'checkbox', label: t('viewer.guest') });
  const input = (place) => place.querySelector('input');
  const begin = rounds();
  let timer = 0;

  async function look() {
    const text = input(search).value.trim();
    const isLast = begin();
    if (text.length < 2) return fill(list);
    try {
      const { results } = await ask('customers', { ...filter({ search: text }), limit: CUSTOMERS });
      if (isLast()) fill(list, results.length ? results.map(pick) : h('p.hint', t('data.noRows')));
    } catch (error) {
      failure(error);
    }
  }
  function pick({ customerId, name, email }) {
    const chosen = () => {
      input(id).value = customerId;
    };
    return h(
      'label.check',
      h('input', { type: 'radio', name: 'picked', onchange: chosen }),
      h('span.clip', name || email || t('order.nobody')),
      h('span.soft.small', customerId),
    );
  }
  input(search).addEventListener('input', () => {
    clearTimeout(timer);
    timer = setTimeout(look, PAUSE);
  });
  return dialog({
    title: t('viewer.title'),
    text: t('viewer.text'),
    content: [guest, search, list, id],
    confirm: t('viewer.look'),
    submit(values) {
      const viewer = values.guest === 'on' ? GUEST : values.id.trim();
      if (!isViewer(viewer)) throw fieldError('id', t('viewer.nobody'));
      choose(viewer);
    },
  });
}
