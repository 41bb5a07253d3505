// The page for app developers: how an app connects to this server, and each of its routes to read and to try.

import { auth } from '../shared/api.js';
import { fill, h } from '../shared/dom.js';
import { errorText } from '../shared/elements/toast.js';
import { loadTexts, t } from '../shared/i18n.js';
import { Router } from '../shared/router.js';
import { server, theme } from '../shared/settings.js';
import { Frame } from './frame.js';

const routes = {
  '/': { area: 'start', load: () => import('./pages/start.js') },
  '/routes': { area: 'routes', load: () => import('./pages/routes.js') },
  '/components': { area: 'components', load: () => import('./pages/components.js') },
  // Functions have a path by name: with the dot in their ids they would look like files.
  '/functions/:name': { area: 'routes', load: () => import('./pages/route.js') },
  '/routes/:id': { area: 'routes', load: () => import('./pages/route.js') },
};

const router = new Router('/developers', routes, show);
const frame = new Frame(router);
let isFirst = true;

async function show(view) {
  const { route, signal } = view;
  const main = frame.begin(route?.area);
  try {
    const content = route
      ? await (await route.load()).render({ ...view, router })
      : problem(t('missing.title'), t('missing.text'));
    if (signal.aborted) return;
    fill(main, content);
  } catch (error) {
    if (signal.aborted || error?.name === 'AbortError') return;
    fill(main, problem(t('problem.title'), errorText(error)));
  }
  entitle(main);
}

function problem(title, text) {
  return h(
    'section.sorry',
    h('h1', title),
    h('p.soft', text),
    h('p', h('a', { href: router.href('/') }, t('area.start'))),
  );
}

/** Announces the view: by the window's title, and by the focus for screen readers. */
function entitle(main) {
  const heading = main.querySelector('h1');
  document.title = `${heading?.textContent ?? t('area.start')} · ${server.shop}`;
  if (!isFirst) {
    heading?.setAttribute('tabindex', '-1');
    heading?.focus({ preventScroll: true });
    scrollTo(0, 0);
  }
  isFirst = false;
}

theme.apply();
await loadTexts(new URL('texts/', import.meta.url));
// When the server ends the session, the page drops it as well.
auth.onEnd(() => frame.redraw());
fill(document.body, frame.element());
await router.start();
