// Reviews: reported ones first, then all, and the hidden ones.

import { ask, containing, find, get, run } from '../../shared/api.js';
import { h } from '../../shared/dom.js';
import { dialog } from '../../shared/elements/dialog.js';
import { failure, toast } from '../../shared/elements/toast.js';
import { ago } from '../../shared/format.js';
import { t } from '../../shared/i18n.js';
import { writeMail } from '../customers/mail.js';
import { viewBar } from '../lists/list-views.js';
import { counted, heading, pager, stateChips } from '../lists/listing.js';
import { searchField } from '../lists/search-field.js';
import { picture } from '../products/picture.js';
import { runs, sees } from '../shell/areas.js';

const PAGE = 20;
const REPORTED = 200;

export async function render(view) {
  const { router, query, signal, redraw } = view;
  const show = ['all', 'hidden'].includes(query.show) ? query.show : '';
  const page = Math.max(1, Number.parseInt(query.page ?? '1', 10) || 1);
  const text = (query.search ?? '').trim();
  const [{ reviews, count }, views] = await Promise.all([
    show ? listed(show, text, page, signal) : reported(text, signal),
    viewBar('reviews', view, []),
  ]);
  const go = (change) => router.go('/reviews', { ...query, page: '', ...change }, { replace: true });
  return [
    heading(t('area.reviews'), counted(`reviews.count.${show || 'reported'}`, count)),
    h(
      'div.bar',
      searchField(t('reviews.search'), query.search, (search) => go({ search })),
      stateChips(
        t('reviews.show'),
        ['', 'all', 'hidden'].map((key) => [key, t(`reviews.show.${key || 'reported'}`)]),
        show,
        (next) => go({ show: next }),
      ),
    ),
    views,
    reviews.length
      ? h(
          'ul.stack',
          reviews.map((review) => h('li', card(review, redraw, router))),
        )
      : h('p.card.nothing', t(`reviews.none.${text ? 'search' : show || 'reported'}`)),
    show ? pager(page, PAGE, count, (next) => router.go('/reviews', { ...query, page: next })) : null,
  ];
}

async function listed(show, text, page, signal) {
  const where = show === 'hidden' ? { moderation: 'hidden' } : {};
  if (text) where.$or = ['content', 'product.name'].map((field) => ({ [field]: containing(text) }));
  const found = await find('ProductReview', {
    where,
    order: '-createdAt',
    include: 'product',
    limit: PAGE,
    skip: (page - 1) * PAGE,
    count: 1,
    signal,
  });
  return { reviews: found.results, count: found.count };
}

/**
 * The function returns only pointers to products; the products are read together. It has no search, because reported
 * reviews are few.
 */
async function reported(text, signal) {
  const { results: reviews, count } = await ask('reviewsToModerate', { limit: REPORTED, count: true }, signal);
  const ids = [...new Set(reviews.map((review) => review.product?.objectId).filter(Boolean))];
  const products = ids.length
    ? (await find('Product', { where: { objectId: { $in: ids } }, limit: ids.length, signal })).results
    : [];
  const byId = new Map(products.map((product) => [product.objectId, product]));
  for (const review of reviews) review.product = byId.get(review.product?.objectId) ?? review.product;
  if (!text) return { reviews, count };
  const part = text.toLowerCase();
  const matching = reviews.filter(({ content, product }) =>
    [content, product?.name].some((words) => words?.toLowerCase().includes(part)),
  );
  return { reviews: matching, count: matching.length };
}

function card(review, redraw, router) {
  const stars = Math.max(0, Math.min(5, Math.round(review.rating ?? 0)));
  const isHidden = review.moderation === 'hidden';
  const name = review.product?.name;
  return h(
    'article.card.review',
    h(
      'div.by',
      picture(review.product),
      name ? productName(review.product, router) : null,
      stars
        ? h(
            'span.stars',
            { role: 'img', 'aria-label': t('review.stars', { n: stars }) },
            '★'.repeat(stars) + '☆'.repeat(5 - stars),
          )
        : null,
      h('span', [review.authorName ?? t('review.nobody'), ago(review.createdAt)].join(' · ')),
      isHidden ? h('span.tag.bad', t('review.hidden')) : null,
      review.reports ? h('span.tag.warn', t('review.reports', { n: review.reports })) : null,
    ),
    h('blockquote', review.content ?? ''),
    review.moderationReason ? h('p.small.soft', t('review.reason', { reason: review.moderationReason })) : null,
    h('div.actions', buttons(review, isHidden, redraw)),
  );
}

function productName({ objectId, name }, router) {
  const text = h('strong', name);
  return sees('products') ? h('a', { href: router.href(`/products/${objectId}`) }, text) : text;
}

function buttons(review, isHidden, redraw) {
  const after = (done) => done && redraw();
  const what = (review.content ?? '').slice(0, 40);
  const button = (kind, key, work) =>
    h(`button${kind}`, { type: 'button', onclick: work, 'aria-label': `${t(key)}: ${what}` }, t(key));
  const keep = () => show(review, isHidden, redraw).then(after);
  return [
    isHidden
      ? button('.primary', 'review.show', keep)
      : review.reports
        ? button('.primary', 'review.keep', keep)
        : null,
    isHidden ? null : button('.danger', 'review.hide', () => hide(review, redraw).then(after)),
    review.user && runs('support') ? button('', 'customerMail.write', () => answer(review)) : null,
  ];
}

function answer(review) {
  const product = review.product?.name ?? t('order.product');
  return writeMail({ userId: review.user.objectId }, t('customerMail.aboutReview', { product: product.slice(0, 30) }));
}

async function show(review, isHidden, redraw) {
  try {
    await run('showReview', { reviewId: review.objectId });
    const reason = review.moderationReason;
    const takeBack = async () => {
      await run('hideReview', { reviewId: review.objectId, ...(reason ? { reason } : {}) });
      await redraw();
    };
    toast(t(isHidden ? 'review.shown' : 'review.kept'), 'good', isHidden ? takeBack : null);
    return true;
  } catch (error) {
    failure(error);
    return false;
  }
}

/** Hides only the text that the operator read: its author may have changed it in the meantime. */
function hide(review, redraw) {
  const takeBack = async () => {
    await run('showReview', { reviewId: review.objectId });
    await redraw();
  };
  return dialog({
    title: t('review.hideTitle'),
    text: t('review.hideText'),
    confirm: t('review.hide'),
    isDanger: true,
    fields: [
      {
        name: 'reason',
        label: t('review.reasonLabel'),
        type: 'textarea',
        maxlength: 400,
        hint: t('review.reasonHint'),
      },
    ],
    async submit({ reason }) {
      const now = await get('ProductReview', review.objectId);
      if (now.content !== review.content) throw new Error(t('review.changed'));
      await run('hideReview', { reviewId: review.objectId, ...(reason.trim() ? { reason: reason.trim() } : {}) });
      toast(t('review.wasHidden'), 'good', takeBack);
    },
  });
}
