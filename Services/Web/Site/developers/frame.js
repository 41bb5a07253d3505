// The frame of every page: its two parts, the language, the colours, and the session that trial requests use.

import { auth, call } from '../shared/api.js';
import { fill, h } from '../shared/dom.js';
import { dialog } from '../shared/elements/dialog.js';
import { chooseLanguage, currentLanguage, languages, t } from '../shared/i18n.js';
import { icon } from '../shared/icons.js';
import { server, theme } from '../shared/settings.js';

const parts = { start: '/', routes: '/routes', components: '/components' };
const CODE_WANTED = 211;

export class Frame {
  #router;
  #main = h('main', { id: 'content' });
  #session = h('span.session');
  #links = new Map();

  constructor(router) {
    this.#router = router;
  }

  element() {
    for (const [part, path] of Object.entries(parts))
      this.#links.set(part, h('a', { href: this.#router.href(path) }, t(`area.${part}`)));
    this.redraw();
    return [
      h('a.skip', { href: '#content', onclick: (event) => this.#skip(event) }, t('shell.skip')),
      h(
        'header.top',
        h(
          'a.brand',
          { href: this.#router.href('/') },
          h('span.mark', { 'aria-hidden': 'true' }),
          h('span', server.shop),
        ),
        h('nav', { 'aria-label': t('shell.menu') }, [...this.#links.values()]),
        h('div.account', this.#session, language(), look()),
      ),
      this.#main,
    ];
  }

  /** The page's container, with a placeholder until the content arrives. */
  begin(part) {
    for (const [name, link] of this.#links) {
      if (name === part) link.setAttribute('aria-current', 'page');
      else link.removeAttribute('aria-current');
    }
    if (!this.#main.querySelector('h1'))
      fill(this.#main, h('div.bones', { role: 'status', 'aria-label': t('shell.loading') }));
    return this.#main;
  }

  /** Shows the session's user and informs the page. */
  redraw() {
    document.dispatchEvent(new Event('satchel-session'));
    const user = auth.current?.user;
    const press = (text, action) => h('button.quiet', { type: 'button', onclick: action }, text);
    fill(
      this.#session,
      user
        ? [h('span.who.clip', { title: user.name }, user.name), press(t('account.signOut'), () => this.#signOut())]
        : press(t('signIn.send'), () => this.#signIn()),
    );
  }

  #skip(event) {
    event.preventDefault();
    const heading = this.#main.querySelector('h1');
    heading?.setAttribute('tabindex', '-1');
    heading?.focus();
  }

  async #signIn() {
    await dialog({
      title: t('signIn.title'),
      text: t('signIn.text'),
      confirm: t('signIn.send'),
      isBrief: true,
      fields: [
        { name: 'username', label: t('signIn.name'), required: true, autocomplete: 'username', inputmode: 'email' },
        {
          name: 'password',
          label: t('signIn.password'),
          required: true,
          type: 'password',
          autocomplete: 'current-password',
        },
        { name: 'code', label: t('signIn.code'), hint: t('signIn.codeHint'), autocomplete: 'one-time-code' },
      ],
      submit: signIn,
    });
    this.redraw();
  }

  async #signOut() {
    await call('POST', '/logout', { body: {} }).catch(() => {});
    auth.drop();
    this.redraw();
  }
}

/** The token stays in memory: reloading the page drops the session. */
async function signIn({ username, password, code }) {
  const body = { username: username.trim(), password };
  if (code) body.authData = { mfa: { token: code.replace(/\s/g, '') } };
  try {
    const user = await call('POST', '/login', { body });
    auth.begin(user.sessionToken, { objectId: user.objectId, name: user.username }, false);
  } catch (error) {
    if (error.code === CODE_WANTED) throw new Error(t('signIn.codeWanted'));
    if (error.code === 101) throw new Error(t('signIn.wrong'));
    throw error;
  }
}

function language() {
  const change = (event) => {
    chooseLanguage(event.target.value);
    location.reload();
  };
  return h(
    'select',
    { 'aria-label': t('account.language'), onchange: change },
    Object.entries(languages).map(([code, label]) =>
      h('option', { value: code, selected: code === currentLanguage(), title: label }, code.toUpperCase()),
    ),
  );
}

function look() {
  const button = h('button.quiet.square', { type: 'button' });
  const draw = () => {
    fill(button, icon(theme.isDark() ? 'sun' : 'moon'));
    button.setAttribute('aria-label', t(theme.isDark() ? 'account.light' : 'account.dark'));
  };
  button.addEventListener('click', () => {
    theme.toggle();
    draw();
  });
  draw();
  return button;
}
