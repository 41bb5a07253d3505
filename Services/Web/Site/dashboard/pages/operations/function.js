// One cloud function: its description, and a form to run it with the operator's rights.

import { call } from '../../../shared/api.js';
import { fill, h } from '../../../shared/dom.js';
import { field } from '../../../shared/elements/dialog.js';
import { errorText } from '../../../shared/elements/toast.js';
import { t } from '../../../shared/i18n.js';
import { heading } from '../../lists/listing.js';
import { guarded, objectOf, parametersField } from '../../operations/shared.js';

export async function render({ params, router, signal }) {
  return guarded(router, 'functions', async () => {
    const { own, code } = await call('GET', '/operations/functions', { signal });
    const isCode = code.functions.includes(params.name);
    const declared = own.find(({ name }) => name === params.name) ?? {};
    const changes = declared.writes !== false;
    return [
      h('a.back', { href: router.href('/operations/functions') }, `← ${t('ops.tab.functions')}`),
      heading(params.name, [isCode ? t('ops.code') : (declared.summary ?? '')]),
      h('div.halves', form(params.name, declared, changes, signal), facts(declared)),
    ];
  });
}

function form(name, { request }, changes, signal) {
  const place = h('div.stack', { 'aria-live': 'polite' });
  const send = h('button.primary', { type: 'submit' }, t('ops.run'));
  async function submit(event) {
    event.preventDefault();
    send.disabled = true;
    const started = performance.now();
    try {
      const body = objectOf(new FormData(event.target).get('parameters'));
      const { result } = await call('POST', `/functions/${encodeURIComponent(name)}`, { body, signal });
      fill(place, answer(result, performance.now() - started));
    } catch (error) {
      if (!signal.aborted) fill(place, h('p.problem', { role: 'alert' }, words(error)));
    } finally {
      send.disabled = false;
    }
  }
  return h(
    'section.card',
    h('header', h('h2', t('ops.run'))),
    h(
      'form.stack',
      { onsubmit: submit },
      h('p.small', t(changes ? 'ops.runChanges' : 'ops.runReads')),
      field(parametersField(JSON.stringify(request ?? {}, null, 2))),
      h('div.actions', send),
    ),
    place,
  );
}

/** The function's own message helps more here than Satchel's text for the code. */
const words = (error) => (error.code > 100 ? `${error.code}: ${error.message}` : errorText(error));

function answer(value, milliseconds) {
  return [
    h('p.small.soft', t('ops.answeredIn', { n: Math.round(milliseconds) })),
    h(
      'pre.result',
      { tabindex: 0, role: 'region', 'aria-label': t('ops.result') },
      JSON.stringify(value ?? null, null, 2),
    ),
  ];
}

function facts({ parameters = {}, required = [], caller, service }) {
  const known = Object.entries(parameters);
  if (!caller) return h('p.card.nothing', t('ops.notDeclared'));
  return h(
    'section.card',
    h('header', h('h2', t('ops.declared'))),
    h(
      'dl.facts',
      h('div', h('dt', t('ops.from')), h('dd', service)),
      h('div', h('dt', t('ops.caller')), h('dd', t(`ops.caller.${caller}`))),
    ),
    h('h3.spaced', t('ops.parameters')),
    known.length
      ? h(
          'ul.stack.small',
          known.map(([name, schema]) => parameter(name, schema, required)),
        )
      : h('p', '–'),
  );
}

function parameter(name, schema, required) {
  const type = [schema.type ?? ''].flat().filter(Boolean).join(', ');
  return h(
    'li',
    h('code', name),
    type ? ` ${type}` : '',
    required.includes(name) ? null : h('span.optional', ` ${t('field.optional')}`),
  );
}
