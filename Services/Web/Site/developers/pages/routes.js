// Every route, by area, with a search field.

import { fill, h } from '../../shared/dom.js';
import { icon } from '../../shared/icons.js';
import { t } from '../../shared/i18n.js';
import { prose } from '../code.js';
import { load } from '../document.js';
import { pathOf } from '../links.js';

export async function render({ router, query }) {
  const reference = await load();
  const list = h('div.stack');
  const count = h('p.soft.small', { role: 'status' });
  const input = h('input', {
    type: 'search',
    'aria-label': t('routes.search'),
    placeholder: t('routes.search'),
    value: query.search ?? '',
    oninput: draw,
  });

  function draw() {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    const fits = ({ method, path, summary, id }) => {
      const text = `${method} ${path} ${summary} ${id}`.toLowerCase();
      return words.every((word) => text.includes(word));
    };
    const areas = reference.areas
      .map(({ name, operations }) => ({ name, operations: operations.filter(fits) }))
      .filter(({ operations }) => operations.length);
    const n = areas.reduce((sum, { operations }) => sum + operations.length, 0);
    fill(count, t('routes.count', { n }));
    fill(list, areas.map(area), n ? null : h('p.nothing', t('routes.none')));
    // The URL keeps the search, without a history entry for each letter.
    history.replaceState(null, '', router.href('/routes', { search: input.value }));
  }

  function area({ name, operations }) {
    return h(
      'section.card',
      h('header', h('h2', name), h('span.soft.small', String(operations.length))),
      h('ul.rows', operations.map(row)),
    );
  }

  function row(operation) {
    return h(
      'li',
      h(`span.verb.${operation.method.toLowerCase()}`, operation.method),
      h(
        'div.grow',
        h('a', { href: router.href(pathOf(operation)) }, h('code', operation.path)),
        h('p.soft.small', prose(operation.summary)),
      ),
      operation.caller === 'master' ? h('span.tag', t('caller.masterShort')) : null,
    );
  }

  draw();
  return [
    h('div.heading', h('h1', t('routes.title')), h('p.soft', t('routes.text'))),
    h('div.bar', h('div.search', icon('search'), input), count),
    list,
  ];
}
