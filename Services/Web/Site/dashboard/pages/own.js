// The operator's own account: password, second factor and sessions.

import { auth, call, find } from '../../shared/api.js';
import { h } from '../../shared/dom.js';
import { failure, toast } from '../../shared/elements/toast.js';
import { dateTime } from '../../shared/format.js';
import { t } from '../../shared/i18n.js';
import { heading } from '../lists/listing.js';
import { sessionRow } from '../team/actions.js';
import { removeFactor, setFactor } from '../team/factor.js';
import { changePassword } from '../team/password.js';

const SESSIONS = 100;

export async function render({ signal, redraw }) {
  const user = { __type: 'Pointer', className: '_User', objectId: auth.current.user.objectId };
  const [me, session, { results: sessions }] = await Promise.all([
    call('GET', '/users/me', { signal }),
    call('GET', '/sessions/me', { signal }),
    find('_Session', { where: { user }, order: '-createdAt', limit: SESSIONS, signal }),
  ]);
  const then = (work) => () =>
    work()
      .then((done) => done && redraw())
      .catch(failure);
  return [
    heading(t('own.title'), me.email ?? me.username),
    h('div.columns', signedIn(sessions, session.objectId, redraw), h('div.stack', password(then), factor(me, then))),
  ];
}

function password(then) {
  return h(
    'section.card.stack',
    h('header', h('h2', t('signIn.password'))),
    h('div.actions', h('button', { type: 'button', onclick: then(changePassword) }, t('own.changePassword'))),
  );
}

function factor({ authData }, then) {
  const isOn = Boolean(authData?.mfa);
  const set = h(
    'button',
    { type: 'button', onclick: then(() => setFactor(isOn)) },
    t(isOn ? 'own.replace' : 'own.set'),
  );
  const off = h('button.danger', { type: 'button', onclick: then(removeFactor) }, t('own.factorRemove'));
  return h(
    'section.card.stack',
    h(
      'header',
      h('h2', t('team.factor')),
      h(`span.tag.${isOn ? 'good' : 'warn'}`, t(isOn ? 'team.factorOn' : 'team.factorOff')),
    ),
    h('p.hint', t('own.factorHint')),
    h('div.actions', set, isOn ? off : null),
  );
}

function signedIn(sessions, present, redraw) {
  const end = (id) => async () => {
    try {
      await call('DELETE', `/sessions/${encodeURIComponent(id)}`);
      toast(t('session.ended', { n: 1 }));
      redraw();
    } catch (error) {
      failure(error);
    }
  };
  const row = (session) => {
    const { objectId, createdAt } = session;
    if (objectId === present) return sessionRow(session, h('span.tag.good', t('own.thisSession')));
    const label = `${t('own.endSession')}: ${t('session.since', { date: dateTime(createdAt) })}`;
    return sessionRow(
      session,
      h('button.quiet', { type: 'button', 'aria-label': label, onclick: end(objectId) }, t('own.endSession')),
    );
  };
  return h('section.card', h('header', h('h2', t('session.title'))), h('ul.rows', sessions.map(row)));
}
