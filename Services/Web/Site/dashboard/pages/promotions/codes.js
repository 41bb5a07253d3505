// Discount codes: their terms, uses and state.

import { ask, find, run } from '../../../shared/api.js';
import { h } from '../../../shared/dom.js';
import { table } from '../../../shared/elements/table.js';
import { failure, toast } from '../../../shared/elements/toast.js';
import { dateTime, money, number, portion } from '../../../shared/format.js';
import { t } from '../../../shared/i18n.js';
import { icon } from '../../../shared/icons.js';
import { stateOf, states } from '../../codes/definition.js';
import { editCode } from '../../codes/dialog.js';
import { counted, heading, pager } from '../../lists/listing.js';
import { searchField } from '../../lists/search-field.js';
import { runs } from '../../shell/areas.js';

const PAGE = 50;

export async function render({ query, router, signal, redraw }) {
  const page = Math.max(1, Number.parseInt(query.page ?? '1', 10) || 1);
  const search = (query.search ?? '').trim();
  const asked = { limit: PAGE, skip: (page - 1) * PAGE, ...(search ? { search } : {}) };
  const { results, count } = await ask('discountCodes', asked, signal);
  const codes = await named(results, signal);
  const after = (done) => done && redraw();
  const go = (change) => router.go('/codes', { ...query, page: '', ...change }, { replace: true });
  const add = () => editCode({ discountCode: search.toUpperCase() }, true).then(after);
  return [
    heading(
      t('area.codes'),
      counted('codes.count', count),
      runs('orders') ? h('button.primary', { type: 'button', onclick: add }, icon('plus'), t('codes.add')) : null,
    ),
    h(
      'div.bar',
      searchField(t('codes.search'), query.search, (text) => go({ search: text })),
    ),
    list(codes, router, after),
    pager(page, PAGE, count, (next) => router.go('/codes', { ...query, page: next })),
  ];
}

/** The codes with the names of their brands and products. */
async function named(codes, signal) {
  const names = async (className, field, name) => {
    const ids = [...new Set(codes.map((code) => code[field]).filter(Boolean))];
    if (!ids.length) return new Map();
    const options = { where: { objectId: { $in: ids } }, keys: name, limit: ids.length, signal };
    const { results } = await find(className, options).catch(() => ({ results: [] }));
    return new Map(results.map((object) => [object.objectId, object[name]]));
  };
  const [brands, products] = await Promise.all([
    names('Category', 'brandId', 'title'),
    names('Product', 'productId', 'name'),
  ]);
  return codes.map((code) => ({
    ...code,
    brandName: brands.get(code.brandId),
    productName: products.get(code.productId),
  }));
}

function list(codes, router, after) {
  const shown = table(
    [
      { title: t('codes.discountCode'), lead: true, cell: (code) => h('strong', code.discountCode) },
      {
        title: t('codes.value'),
        end: true,
        cell: (code) => (code.percent === undefined ? money(code.amountMinorUnits) : portion(code.percent / 100)),
      },
      { title: t('codes.terms'), cell: terms },
      { title: t('codes.period'), cell: period },
      {
        title: t('codes.uses'),
        end: true,
        cell: (code) => uses(code, router),
      },
      {
        title: t('order.state'),
        cell: (code) => {
          const state = stateOf(code);
          return h(`span.tag${states[state] ? `.${states[state]}` : ''}`, t(`codes.state.${state}`));
        },
      },
      { title: '', end: true, cell: (code) => (runs('orders') ? buttons(code, after) : null) },
    ],
    { label: t('area.codes'), id: (code) => code.discountCode, empty: t('codes.none') },
  );
  shown.rows = codes;
  return shown;
}

function terms(code) {
  return [
    code.minimumMinorUnits ? t('codes.minimumOf', { amount: money(code.minimumMinorUnits) }) : null,
    code.brandId ? (code.brandName ?? code.brandId) : null,
    code.productId ? (code.productName ?? code.productId) : null,
    code.usesPerCustomerMax ? counted('codes.perCustomer', code.usesPerCustomerMax) : null,
  ]
    .filter(Boolean)
    .join(' · ');
}

function period(code) {
  if (!code.from && !code.until) return t('codes.always');
  return `${dateTime(code.from)} – ${dateTime(code.until)}`.trim();
}

/** The uses, as a link to the orders with the code. */
function uses({ discountCode, uses: used, usesMax }, router) {
  const text = usesMax ? t('codes.usesOf', { uses: number(used), most: number(usesMax) }) : number(used);
  return used ? h('a', { href: router.href('/orders', { code: discountCode }) }, text) : text;
}

function buttons(code, after) {
  const button = (key, onclick) =>
    h('button.quiet', { type: 'button', 'aria-label': `${t(key)}: ${code.discountCode}`, onclick }, t(key));
  return h(
    'div.actions.tight',
    button('action.edit', () => editCode(code, false).then(after)),
    button(code.active ? 'codes.switchOff' : 'codes.switchOn', () => turn(code).then(after)),
  );
}

async function turn({ discountCode, active }) {
  try {
    await run('updateDiscountCode', { discountCode, active: !active });
    toast(t(active ? 'codes.isOff' : 'codes.isOn', { name: discountCode }));
    return true;
  } catch (error) {
    failure(error);
    return false;
  }
}
