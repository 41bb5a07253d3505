// How an app connects to this server.

import { h } from '../../shared/dom.js';
import { t } from '../../shared/i18n.js';
import { meta, server } from '../../shared/settings.js';
import { code } from '../code.js';
import { snippets } from '../snippets.js';

export function render({ router }) {
  const app = {
    url: meta('url'),
    applicationId: server.applicationId,
    clientKey: server.clientKey,
    keyKinds: meta('key-kinds').split(' ').filter(Boolean),
  };
  const fact = (label, value) => h('div', h('dt', label), h('dd', value));
  return [
    h('div.heading', h('h1', t('start.title')), h('p.soft', t('start.text', { shop: server.shop }))),
    h(
      'section.card',
      h('header', h('h2', t('start.keys'))),
      h(
        'dl.facts',
        fact(t('start.url'), h('code', app.url)),
        fact(t('start.applicationId'), h('code', app.applicationId)),
        fact(t('start.clientKeys'), app.keyKinds.length ? app.keyKinds.join(', ') : t('start.noKeys')),
      ),
      app.keyKinds.length ? h('p.soft', t('start.withKeys')) : null,
      h('p.warning', h('strong', t('start.master')), ' ', t('start.masterText')),
    ),
    h('h2', t('start.sdks')),
    h('p.soft', t('start.sdksText')),
    h('div.stack', snippets(app).map(card)),
    h(
      'section.card',
      h('header', h('h2', t('start.next'))),
      h(
        'ul.links',
        h('li', h('a', { href: router.href('/routes') }, t('start.nextRoutes'))),
        h('li', h('a', { href: router.href('/functions/addToBag') }, t('start.nextBag'))),
        h('li', h('a', { href: router.href('/components') }, t('start.nextComponents'))),
        h('li', h('a', { href: `${server.mount}/openapi.json` }, t('start.nextDocument'))),
      ),
    ),
  ];
}

function card({ id, title, install, code: text, lacks }) {
  return h(
    'section.card.stack',
    h('header', h('h3', title), install ? h('code.small.clip', { title: install }, install) : null),
    lacks ? h('p.warning', t('start.lacks', { kind: lacks, setting: `SATCHEL_${lacks.toUpperCase()}_KEY` })) : null,
    code(text, { name: title, id }),
  );
}
