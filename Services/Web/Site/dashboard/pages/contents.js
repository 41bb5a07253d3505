// The pages of the shop: about, terms, privacy. Apps show their Markdown text.

import { h } from '../../shared/dom.js';
import { ago } from '../../shared/format.js';
import { t } from '../../shared/i18n.js';
import { objectList, texts } from '../lists/object-list.js';

const kind = {
  name: 'pages',
  className: 'Page',
  order: 'name',
  search: ['name', 'title', 'content'],
  title: (page) => page.title ?? page.name ?? page.objectId,
  columns: () => [
    { title: t('pages.title'), lead: true, cell: (page) => h('strong', page.title ?? '') },
    { name: 'path', title: t('pages.name'), cell: (page) => page.name ?? '' },
    {
      name: 'state',
      title: t('pages.state'),
      cell: ({ published }) =>
        h(`span.tag${published === false ? '' : '.good'}`, t(published === false ? 'pages.draft' : 'pages.published')),
    },
    { name: 'updated', title: t('product.updated'), narrow: false, cell: (page) => ago(page.updatedAt) },
  ],
  form: (page) => ({
    isWide: true,
    fields: [
      { name: 'title', label: t('pages.title'), required: true, maxlength: 200, value: page.title },
      {
        name: 'name',
        label: t('pages.name'),
        required: true,
        maxlength: 64,
        hint: t('pages.nameHint'),
        value: page.name,
      },
      { name: 'content', label: t('pages.content'), type: 'textarea', rows: 12, value: page.content },
      { name: 'published', type: 'checkbox', label: t('pages.publish'), checked: page.published !== false },
    ],
    read: (values) => ({
      title: values.title.trim(),
      name: values.name.trim(),
      ...texts(values, ['content'], page),
      published: values.published === 'on',
    }),
  }),
};

export function render(view) {
  return objectList(view, kind);
}
