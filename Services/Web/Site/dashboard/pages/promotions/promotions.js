// Promotions: push notifications to customers' devices, and their audiences.

import { containing, find } from '../../../shared/api.js';
import { h } from '../../../shared/dom.js';
import { table } from '../../../shared/elements/table.js';
import { ago, beginning, dateTime } from '../../../shared/format.js';
import { t } from '../../../shared/i18n.js';
import { icon } from '../../../shared/icons.js';
import { viewBar, wantedColumns } from '../../lists/list-views.js';
import { counted, heading, pager } from '../../lists/listing.js';
import { searchField } from '../../lists/search-field.js';
import { picture } from '../../products/picture.js';
import { audienceWords } from '../../promotions/audience.js';

const PAGE = 25;

export async function render(view) {
  const { router, query, signal } = view;
  const columns = columnsOf(router);
  const page = Math.max(1, Number.parseInt(query.page ?? '1', 10) || 1);
  const text = (query.search ?? '').trim();
  const [found, views] = await Promise.all([
    find('Promotion', {
      where: text ? { $or: ['content', 'discountCode'].map((name) => ({ [name]: containing(text) })) } : {},
      order: '-createdAt',
      limit: PAGE,
      skip: (page - 1) * PAGE,
      count: 1,
      signal,
    }),
    viewBar('promotions', view, columns),
  ]);
  return [
    heading(
      t('area.promotions'),
      counted('promotions.count', found.count),
      h(
        'div.actions',
        h('a.button', { href: router.href('/pushes') }, t('push.title')),
        h('a.button.primary', { href: router.href('/promotions/new') }, icon('plus'), t('promotions.add')),
      ),
    ),
    h(
      'div.bar',
      searchField(t('promotions.search'), query.search, (search) =>
        router.go('/promotions', { ...query, page: '', search }, { replace: true }),
      ),
    ),
    views,
    list(found.results, wantedColumns(columns, query.columns), router),
    pager(page, PAGE, found.count, (next) => router.go('/promotions', { ...query, page: next })),
  ];
}

function columnsOf(router) {
  return [
    { title: t('promotion.content'), lead: true, cell: (promotion) => named(promotion, router) },
    {
      name: 'audience',
      title: t('promotion.audience'),
      cell: ({ audience }) => {
        const { key, values } = audienceWords(audience);
        return t(key, values);
      },
    },
    { name: 'code', title: t('promotion.code'), cell: (promotion) => promotion.discountCode ?? '' },
    {
      name: 'schedule',
      title: t('promotion.schedule'),
      cell: ({ schedule }) => (schedule ? dateTime(schedule) : t('promotion.unplanned')),
    },
    { name: 'added', title: t('product.added'), narrow: false, cell: (promotion) => ago(promotion.createdAt) },
  ];
}

function list(promotions, columns, router) {
  const shown = table(columns, {
    label: t('area.promotions'),
    id: (promotion) => promotion.objectId,
    empty: t('promotions.none'),
    open: (promotion) => router.go(`/promotions/${promotion.objectId}`),
  });
  shown.rows = promotions;
  return shown;
}

function named(promotion, router) {
  const text = beginning(promotion.content, 90) || promotion.objectId;
  return h(
    'div.named',
    picture({ thumbnail: promotion.thumbnail }),
    h('a', { href: router.href(`/promotions/${promotion.objectId}`) }, text),
  );
}
