// One route: required rights, parameters, responses, an example, and a form to try it.

import { h } from '../../shared/dom.js';
import { t } from '../../shared/i18n.js';
import { code, pretty, prose } from '../code.js';
import { load } from '../document.js';
import { canTry, curl, sample, signIn } from '../requests.js';
import { own, trial } from '../try.js';

export async function render({ router, params, signal }) {
  const reference = await load();
  const operation = reference.find(params);
  if (!operation) return [h('h1', t('missing.title')), h('p.soft', t('missing.text')), back(router)];
  return [
    back(router),
    h(
      'div.heading',
      h('h1', h(`span.verb.${operation.method.toLowerCase()}`, operation.method), ' ', h('code', operation.path)),
      h('p', prose(operation.summary)),
      operation.description ? h('p.soft', prose(operation.description)) : null,
      h('p', h('span.tag', t(`caller.${operation.caller}`))),
    ),
    h(
      'div.stack',
      parameters(operation, reference),
      body(operation, reference),
      answers(operation),
      example(operation),
      canTry(operation)
        ? trial(operation, signal)
        : h('p.soft', t(operation.caller === 'master' ? 'try.master' : 'try.notHere')),
    ),
  ];
}

function back(router) {
  return h('p', h('a', { href: router.href('/routes') }, t('routes.back')));
}

function table(caption, rows) {
  const head = ['name', 'type', 'about'].map((name) => h('th', { scope: 'col' }, t(`table.${name}`)));
  return h(
    'section.card',
    h('header', h('h2', caption)),
    h(
      'div.scroll',
      { tabindex: 0, role: 'region', 'aria-label': caption },
      h('table.fields', h('thead', h('tr', head)), h('tbody', rows.map(row))),
    ),
  );
}

function row({ name, type, place, isNeeded, text }) {
  return h(
    'tr',
    h('th', { scope: 'row' }, h('code', name), isNeeded ? h('span.small', ` ${t('table.needed')}`) : null),
    h('td', h('code', type), place ? h('div.soft.small', t(`place.${place}`)) : null),
    h('td', prose(text)),
  );
}

function parameters(operation, reference) {
  if (!operation.parameters.length) return null;
  const rows = operation.parameters.map((parameter) => ({
    name: parameter.name,
    place: parameter.in,
    isNeeded: parameter.required,
    text: parameter.description ?? '',
    type: reference.type(parameter.schema ?? parameter.content?.['application/json']?.schema),
  }));
  return table(t('route.parameters'), rows);
}

function body(operation, reference) {
  if (!operation.body) return null;
  const { type, schema } = operation.body;
  const properties = schema ? reference.properties(schema) : [];
  if (properties.length) return table(t('route.body'), properties);
  const text = (schema && reference.resolve(schema).description) || t('route.bodyOf', { type });
  return h('section.card', h('header', h('h2', t('route.body'))), h('p', prose(text)));
}

function answers(operation) {
  return h(
    'section.card',
    h('header', h('h2', t('route.answers'))),
    h(
      'dl.answers',
      operation.answers.map(({ status, text, content }) => {
        const shows = content?.type === 'application/json' && content.example !== undefined;
        return h(
          'div',
          h('dt', h(`span.tag.${Number(status) < 400 ? 'good' : 'bad'}`, status)),
          h(
            'dd',
            h('p', prose(text), content && !shows ? ` ${content.type}` : null),
            shows && Number(status) < 400
              ? code(pretty(content.example), { name: t('route.answerOf', { status }) })
              : null,
          ),
        );
      }),
    ),
  );
}

function example(operation) {
  const place = own(operation);
  const isSecret = operation.caller === 'master';
  const isUsers = operation.caller === 'user';
  const headers = {
    ...place.headers,
    ...(isSecret ? { 'X-Parse-Master-Key': '$MASTER_KEY' } : {}),
    ...(isUsers ? { 'X-Parse-Session-Token': '$SESSION_TOKEN' } : {}),
  };
  let text = curl(sample(operation, { ...place, headers }));
  // In single quotes a shell would send the variable's name.
  if (isUsers) text = `${signIn(place)}\n\n${text}`;
  if (isSecret) text = text.replace("'X-Parse-Master-Key: $MASTER_KEY'", '"X-Parse-Master-Key: $MASTER_KEY"');
  return h(
    'section.card',
    h('header', h('h2', t('route.example'))),
    isSecret ? h('p.soft', t('route.exampleMaster')) : null,
    isUsers ? h('p.soft', t('route.exampleUser')) : null,
    code(text, { name: t('route.example'), id: 'example' }),
  );
}
