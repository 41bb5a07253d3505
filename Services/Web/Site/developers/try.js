// Tries a route at this server, as a guest or with a session from the page's sign-in.
//
// A request that changes something is sent only after its exact text was shown.

import { auth, headers } from '../shared/api.js';
import { fill, h } from '../shared/dom.js';
import { field } from '../shared/elements/dialog.js';
import { errorText } from '../shared/elements/toast.js';
import { t } from '../shared/i18n.js';
import { server } from '../shared/settings.js';
import { code, pretty } from './code.js';
import { asked, build, curl, FieldProblem, shown } from './requests.js';

const SHOWN_MAX = 100_000;

/** The headers of keys and session, and the URL of this page's server. */
export function own(operation) {
  return {
    url: location.origin + (operation.isBeside ? '' : server.mount),
    headers: operation.caller === 'anyone' ? {} : headers(),
  };
}

/** The form with a field for each parameter, and a place for the response. */
export function trial(operation, signal) {
  const isRead = operation.method === 'GET';
  const note = h('p.problem', { role: 'alert' });
  const preview = h('div.stack');
  const answer = h('div.stack', { 'aria-live': 'polite' });
  const send = h('button.primary', { type: 'submit' }, t(isRead ? 'try.send' : 'try.show'));
  const form = h('form.trial', { onsubmit: submit, oninput: forget }, fields(operation), h('p', send), note);

  /** Drops the shown request after an edit, because it is no longer current. */
  function forget() {
    fill(preview);
  }

  function submit(event) {
    event.preventDefault();
    fill(note);
    fill(answer);
    let request;
    try {
      request = build(operation, Object.fromEntries(new FormData(form)), own(operation));
    } catch (problem) {
      fill(
        note,
        problem instanceof FieldProblem ? t(`try.${problem.kind}`, { name: problem.field }) : errorText(problem),
      );
      return;
    }
    fill(preview, h('h3', t('try.request')), code(shown(request), { name: t('try.request') }), again(request));
    if (isRead) run(request);
  }

  function again(request) {
    const copy = h('details', h('summary', 'curl'), code(curl(request), { name: 'curl' }));
    if (isRead) return copy;
    const press = h('button.danger', { type: 'button' }, t('try.sendThis', { method: request.method }));
    press.addEventListener('click', async () => {
      press.disabled = true;
      await run(request);
      // Repeating the request requires a new preview.
      fill(preview);
    });
    return [h('p.soft', t('try.changes')), h('p', press), copy];
  }

  async function run(request) {
    send.disabled = true;
    send.setAttribute('aria-busy', 'true');
    try {
      fill(answer, await sent(request, signal));
    } catch (error) {
      if (!signal.aborted) fill(answer, h('p.problem', errorText(error)));
    } finally {
      send.disabled = false;
      send.removeAttribute('aria-busy');
    }
  }

  const who = h('p.soft');
  const draw = () => fill(who, auth.current ? t('try.asUser', { name: auth.current.user.name }) : t('try.asGuest'));
  draw();
  document.addEventListener('satchel-session', draw, { signal });
  document.addEventListener('satchel-session', forget, { signal });
  return h('section.card.stack', h('header', h('h2', t('try.title'))), who, form, preview, answer);
}

function fields(operation) {
  const parameters = asked(operation).map((parameter) =>
    field({
      name: parameter.name,
      label: parameter.name,
      hint: parameter.description?.replaceAll('`', ''),
      required: parameter.required,
      value: parameter.example ?? '',
    }),
  );
  if (operation.body) {
    const value = operation.body.example === undefined ? '' : pretty(operation.body.example);
    const rows = Math.min(16, value.split('\n').length + 1);
    parameters.push(
      field({ name: 'body', label: t('try.body'), type: 'textarea', rows, value, required: operation.isBodyNeeded }),
    );
  }
  return parameters;
}

/** Sends a request and shows the response: status, time, size and content. */
async function sent({ method, url, headers: all, body }, signal) {
  const start = performance.now();
  const answer = await fetch(url, { method, headers: all, body, credentials: 'omit', cache: 'no-store', signal });
  const text = await answer.text();
  const milliseconds = Math.round(performance.now() - start);
  let content = text;
  try {
    content = pretty(JSON.parse(text));
  } catch {
    // Not JSON: shown as received.
  }
  if (content.length > SHOWN_MAX) content = `${content.slice(0, SHOWN_MAX)}\n…`;
  return [
    h('h3', t('try.answer')),
    h(
      'p',
      h(`span.tag.${answer.ok ? 'good' : 'bad'}`, `${answer.status} ${answer.statusText}`.trim()),
      ' ',
      h('span.soft', t('try.took', { milliseconds, bytes: new TextEncoder().encode(text).length })),
    ),
    code(content, { name: t('try.answer'), id: 'answer' }),
  ];
}
