// Finds orders, products and customers from any view: with `/` or Ctrl-K.

import { ask, containing, find } from '../../shared/api.js';
import { fill, h } from '../../shared/dom.js';
import { t } from '../../shared/i18n.js';
import { accountName } from '../customers/accounts.js';
import { filter } from '../customers/totals.js';
import { matching, nameOf, total } from '../orders/shared.js';
import { runs } from './areas.js';

const PAUSE = 200;
const MOST = 5;
/** Minimum length of a text. */
const SHORTEST = 2;

/** Opens the search for the keys, unless the operator types in a field or a dialog is open. */
export function listenForSearch(router) {
  document.addEventListener('keydown', (event) => {
    const isCommand = (event.ctrlKey || event.metaKey) && !event.altKey && event.key.toLowerCase() === 'k';
    const isTyping = event.target.closest?.('input, textarea, select, [contenteditable]');
    const isSlash = event.key === '/' && !event.ctrlKey && !event.metaKey && !event.altKey && !isTyping;
    if (!(isCommand || isSlash) || document.querySelector('dialog[open]') || !document.querySelector('.frame')) return;
    event.preventDefault();
    openSearch(router);
  });
}

export function openSearch(router) {
  const [list, status] = [h('ul.rows'), h('p.soft.small', { role: 'status' })];
  const input = h('input', { type: 'search', 'aria-label': t('quick.label'), placeholder: t('quick.label') });
  const box = h('dialog.quick', { 'aria-label': t('quick.label') }, h('div.content', input, status, list));
  let timer = 0;
  let abort = new AbortController();

  async function search() {
    const text = input.value.trim();
    abort.abort();
    abort = new AbortController();
    const { signal } = abort;
    if ([...text].length < SHORTEST) return fill(list);
    try {
      const found = (await Promise.all(questions(text, router, signal))).flat();
      if (signal.aborted) return;
      fill(list, found.map(row));
      fill(status, found.length ? '' : t('quick.nothing'));
    } catch (error) {
      if (!signal.aborted) fill(status, error.message);
    }
  }
  input.addEventListener('input', () => {
    clearTimeout(timer);
    timer = setTimeout(search, PAUSE);
  });
  box.addEventListener('keydown', (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const links = [...list.querySelectorAll('a')];
    if (event.key === 'Enter' && event.target === input) links[0]?.click();
    if (!step) return;
    event.preventDefault();
    (links[links.indexOf(document.activeElement) + step] ?? input).focus();
  });
  list.addEventListener('click', (event) => event.target.closest('a') && box.close());
  box.addEventListener('click', (event) => event.target === box && box.close());
  box.addEventListener('close', () => {
    clearTimeout(timer);
    abort.abort();
    box.remove();
  });
  document.body.append(box);
  box.showModal();
}

/** The searches that the operator's areas allow, each with a list of `{ kind, href, title, note }`. */
function questions(text, router, signal) {
  const orders = async () => {
    const { results } = await ask('orders', { ...matching(text), limit: MOST }, signal);
    return results.map((order) => ({
      kind: t('area.orders'),
      href: router.href(`/orders/${order.objectId}`),
      title: `№ ${order.orderNo}`,
      note: `${nameOf(order)} · ${total(order)}`,
    }));
  };
  const products = async () => {
    const { results } = await find('Product', {
      where: { name: containing(text) },
      order: 'name',
      limit: MOST,
      signal,
    });
    return results.map(({ objectId, name }) => ({
      kind: t('area.products'),
      href: router.href(`/products/${objectId}`),
      title: name,
    }));
  };
  const customers = async () => {
    const [buyers, accounts] = await Promise.all([
      ask('customers', { ...filter({ search: text }), limit: MOST }, signal),
      runs('support') ? ask('accounts', { search: text, limit: MOST }, signal) : { results: [] },
    ]);
    const people = new Map(
      accounts.results.map((account) => [account.objectId, { title: accountName(account), note: account.email }]),
    );
    for (const { customerId, name, email } of buyers.results) {
      people.set(customerId, { title: name || email || t('order.nobody'), note: email });
    }
    return [...people].slice(0, MOST).map(([id, { title, note }]) => ({
      kind: t('area.customers'),
      href: router.href(`/customers/${id}`),
      title,
      note,
    }));
  };
  const isDesk = runs('orders', 'support');
  return [isDesk && orders(), runs('catalog') && products(), isDesk && customers()].filter(Boolean);
}

function row({ kind, href, title, note }) {
  return h(
    'li',
    h('span.soft.small', kind),
    h('div.grow', h('a', { href }, title), note ? h('p.soft.small.clip', note) : null),
  );
}
