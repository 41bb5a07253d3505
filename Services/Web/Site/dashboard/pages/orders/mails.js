// Mails by state, newest first, and the addresses that get no mail.

import { ask, run } from '../../../shared/api.js';
import { h } from '../../../shared/dom.js';
import { table } from '../../../shared/elements/table.js';
import { failure, toast } from '../../../shared/elements/toast.js';
import { dateTime } from '../../../shared/format.js';
import { hasText, t } from '../../../shared/i18n.js';
import { heading, ofAll, stateChips } from '../../lists/listing.js';

const MOST = 200;
/** The states of a mail, with their styles. */
const states = { failed: 'bad', bounced: 'bad', suppressed: 'warn', held: 'warn', queued: 'calm', sent: 'good' };
/** The states from which a mail is sent only when an operator wants it. */
const ended = ['failed', 'bounced', 'suppressed', 'held'];

export async function render({ query, router, redraw, signal }) {
  const state = Object.hasOwn(states, query.state ?? '') ? query.state : '';
  const [mails, addresses] = await Promise.all([
    ask('mails', { limit: MOST, count: true, ...(state ? { state } : {}) }, signal),
    ask('suppressedAddresses', { limit: MOST }, signal),
  ]);
  const choices = [['', t('orders.all')], ...Object.keys(states).map((name) => [name, t(`mails.show.${name}`)])];
  const go = (chosen) => router.go('/mails', { state: chosen }, { replace: true });
  return [
    heading(t('mails.title'), ofAll('mails.count', mails.count, MOST)),
    h('div.bar', stateChips(t('order.state'), choices, state, go)),
    mailTable(mails.results, router, redraw),
    h('h2.spaced', t('mails.addresses')),
    addressTable(addresses, redraw),
  ];
}

function mailTable(mails, router, redraw) {
  const shown = table(
    [
      { title: t('order.date'), lead: true, cell: ({ queuedAt }) => h('span.when', dateTime(queuedAt)) },
      {
        title: t('mails.what'),
        cell: ({ id, template }) => h('a', { href: router.href(`/mails/${id}`) }, word(template)),
      },
      { title: t('mails.to'), cell: ({ to }) => to },
      {
        title: t('order.number'),
        cell: ({ orderNo }) =>
          orderNo ? h('a', { href: router.href('/orders', { search: orderNo }) }, `№ ${orderNo}`) : '',
      },
      {
        title: t('order.state'),
        cell: ({ state }) => h(`span.tag.${states[state] ?? 'calm'}`, t(`mails.show.${state}`)),
      },
      { title: t('order.problem'), cell: ({ problem }) => h('span.words', problem ?? '') },
      {
        title: '',
        end: true,
        cell: ({ id, state, to }) =>
          ended.includes(state)
            ? action('mails.retry', to, () => run('retryMail', { id }), t('mails.retried'), redraw)
            : null,
      },
    ],
    { label: t('mails.title'), id: ({ id }) => id, empty: t('mails.none') },
  );
  shown.rows = mails;
  return shown;
}

function addressTable(addresses, redraw) {
  const shown = table(
    [
      { title: t('mails.address'), lead: true, cell: ({ address }) => address },
      { title: t('order.date'), cell: ({ suppressedAt }) => dateTime(suppressedAt) },
      { title: t('order.problem'), cell: ({ reason }) => h('span.words', reason ?? '') },
      {
        title: '',
        end: true,
        cell: ({ address }) =>
          action(
            'mails.allow',
            address,
            () => run('unsuppressAddress', { address }),
            t('mails.allowed', { address }),
            redraw,
          ),
      },
    ],
    { label: t('mails.addresses'), id: ({ address }) => address, empty: t('mails.noAddresses') },
  );
  shown.rows = addresses;
  return shown;
}

function action(key, about, work, done, redraw) {
  const press = async () => {
    try {
      await work();
      toast(done);
      redraw();
    } catch (error) {
      failure(error);
    }
  };
  return h('button.quiet', { type: 'button', 'aria-label': `${t(key)}: ${about}`, onclick: press }, t(key));
}

/** The name of a mail; one of cloud code has none. */
function word(template) {
  if (hasText(`mail.secret.${template}`)) return t(`mail.link.${template}`);
  const text = hasText(`mail.${template}`) ? t(`mail.${template}`) : t('mail.one');
  return text.charAt(0).toLocaleUpperCase() + text.slice(1);
}
