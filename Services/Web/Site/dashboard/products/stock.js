// The ledger of a product's stock: what changed it, and by how much.

import { h } from '../../shared/dom.js';
import { errorText } from '../../shared/elements/toast.js';
import { dateTime, number } from '../../shared/format.js';
import { t } from '../../shared/i18n.js';
import { askIfThere, sees } from '../shell/areas.js';
import { absent, withOlder } from './older.js';

const PAGE = 20;
const MASTER_KEY = 'master key';

/** The card below a product; null for a product whose stock was never counted, and without the right. */
export async function stockCard(product, router) {
  const load = async (after) => {
    const asked = { productId: product.objectId, limit: PAGE };
    const { moves, next } = await askIfThere('stockMoves', after ? { ...asked, after } : asked);
    return { entries: moves, next };
  };
  try {
    const first = await load();
    return first.entries.length ? card(...withOlder(first, load, (move) => step(move, router))) : null;
  } catch (error) {
    return absent.includes(error.code) ? null : card(h('p.problem', errorText(error)));
  }
}

function card(...content) {
  return h('section.card.moves', h('header', h('h2', t('moves.title'))), content, h('p.hint', t('moves.hint')));
}

function step(move, router) {
  const who = move.who === MASTER_KEY ? t('history.masterKey') : move.who;
  return h(
    'li.done',
    h('strong', sentence(move)),
    h('p.soft.small', [dateTime(move.at), who].filter(Boolean).join(' · ')),
    move.orderId ? h('p.small', order(move.orderId, router)) : null,
  );
}

function order(id, router) {
  const text = t('moves.order', { id });
  return sees('orders') ? h('a', { href: router.href(`/orders/${id}`) }, text) : text;
}

/** `Reserved: −2`; a sale whose pieces were reserved before has no number. */
export function sentence({ reason, pieces }) {
  const name = t(`moves.${reason}`);
  return pieces ? `${name}: ${pieces > 0 ? '+' : ''}${number(pieces)}` : name;
}
