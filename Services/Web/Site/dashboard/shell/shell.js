// The frame around every view: the menu, at the side or on a phone at the bottom, and the account menu.

import { auth } from '../../shared/api.js';
import { fill, h } from '../../shared/dom.js';
import { mayLose } from '../../shared/elements/form.js';
import { chooseLanguage, currentLanguage, languages, t } from '../../shared/i18n.js';
import { icon } from '../../shared/icons.js';
import { onLive } from '../../shared/live/live.js';
import { server, theme } from '../../shared/settings.js';
import { unsaved } from '../../shared/unsaved.js';
import { sees } from './areas.js';
import { openSearch } from './quick-search.js';
import { leave } from './sign-in.js';

/** The menu, in its order. */
export const entries = {
  today: '/',
  orders: '/orders',
  products: '/products',
  reviews: '/reviews',
  customers: '/customers',
  analytics: '/analytics',
  data: '/data',
  promotions: '/promotions',
  codes: '/codes',
  storefront: '/storefront',
  crashes: '/crashes',
  operations: '/operations',
  team: '/team',
};

export class Shell {
  #router;
  #main = h('main', { id: 'content' });
  #links = new Map();

  constructor(router) {
    this.#router = router;
  }

  element() {
    this.#links.clear();
    const links = Object.entries(entries).filter(([area]) => sees(area));
    const items = links.map(([area, path]) => {
      const link = h('a', { href: this.#router.href(path) }, icon(area), h('span', t(`area.${area}`)));
      this.#links.set(area, link);
      return h('li', link);
    });
    const brand = h(
      'a.brand',
      { href: this.#router.href('/') },
      h('span.mark', { 'aria-hidden': 'true' }),
      h('span', server.shop),
    );
    return [
      h('a.skip', { href: '#content', onclick: (event) => this.#skip(event) }, t('shell.skip')),
      h(
        'div.frame',
        h('header.top', brand, this.#account()),
        h('nav.rail', { 'aria-label': t('shell.menu') }, h('ul', items)),
        this.#main,
      ),
    ];
  }

  /**
   * The view's container, with a placeholder until the content arrives.
   * @param isRedrawn whether it keeps the view's earlier content meanwhile.
   */
  begin(isRedrawn) {
    const isThere = this.#main.querySelector('h1') && !this.#main.querySelector('.sorry');
    if (!isRedrawn || !isThere) fill(this.#main, bones());
    return this.#main;
  }

  select(area) {
    for (const [name, link] of this.#links) {
      if (name === area) {
        link.setAttribute('aria-current', 'page');
        // On a phone the menu scrolls horizontally.
        link.scrollIntoView({ block: 'nearest', inline: 'nearest' });
      } else link.removeAttribute('aria-current');
    }
  }

  #skip(event) {
    event.preventDefault();
    const heading = this.#main.querySelector('h1');
    heading?.setAttribute('tabindex', '-1');
    heading?.focus();
  }

  #account() {
    const name = auth.current?.user.name ?? '';
    const language = h(
      'select',
      {
        'aria-label': t('account.language'),
        onchange: (event) => {
          chooseLanguage(event.target.value);
          location.reload();
        },
      },
      Object.entries(languages).map(([code, label]) =>
        h('option', { value: code, selected: code === currentLanguage(), title: label }, code.toUpperCase()),
      ),
    );
    const look = h('button.quiet.square', { type: 'button' });
    const draw = () => {
      fill(look, icon(theme.isDark() ? 'sun' : 'moon'));
      look.setAttribute('aria-label', t(theme.isDark() ? 'account.light' : 'account.dark'));
    };
    look.addEventListener('click', () => {
      theme.toggle();
      draw();
    });
    draw();
    return h(
      'div.account',
      liveSign(),
      h(
        'button.quiet.square',
        {
          type: 'button',
          'aria-label': t('quick.label'),
          title: t('quick.keys'),
          onclick: () => openSearch(this.#router),
        },
        icon('search'),
      ),
      h('span.who.clip', { title: name }, name),
      h(
        'a.button.quiet.square',
        { href: this.#router.href('/own'), 'aria-label': t('own.title'), title: t('own.title') },
        icon('customers'),
      ),
      language,
      look,
      h('button.quiet.square', { type: 'button', 'aria-label': t('account.signOut'), onclick: signOut }, icon('leave')),
    );
  }
}

/** The placeholder of a view. */
export function bones() {
  const lines = Array.from({ length: 3 }, () => h('div.bones'));
  return h('div.skeleton', { role: 'status', 'aria-label': t('shell.loading') }, lines);
}

/** A sign that changes by others appear automatically; visible while that works. */
function liveSign() {
  const sign = h(
    'span.live',
    { title: t('live.sign') },
    h('span', { 'aria-hidden': 'true' }, t('live.short')),
    h('span.unseen', t('live.sign')),
  );
  onLive((isLive) => {
    sign.hidden = !isLive;
  });
  return sign;
}

async function signOut() {
  if (!(await mayLose(unsaved()))) return;
  await leave();
  auth.end(false);
}
