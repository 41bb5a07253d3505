// The dashboard: signs an operator in and shows the view of the URL.

import { APIError, auth } from '../shared/api.js';
import { fill, h } from '../shared/dom.js';
import { mayLose } from '../shared/elements/form.js';
import { failure, toast } from '../shared/elements/toast.js';
import { shareSession, takeSession } from '../shared/handover.js';
import { loadTexts, t } from '../shared/i18n.js';
import { Router } from '../shared/router.js';
import { server, theme } from '../shared/settings.js';
import { forgetAll } from '../shared/store.js';
import { retype, typedIn, unsaved } from '../shared/unsaved.js';
import { routes } from './routes.js';
import { areas, sees } from './shell/areas.js';
import { missingModule, watchConnection, withoutTexts } from './shell/offline.js';
import { listenForSearch } from './shell/quick-search.js';
import { bones, Shell } from './shell/shell.js';
import { leave, signIn, signInAgain } from './shell/sign-in.js';
import { elsewhere, problem } from './shell/sorry.js';

const guard = { isNeeded: () => unsaved().length > 0, mayLeave: () => mayLose(unsaved()) };
const router = new Router('/dashboard', routes, show, guard);
const shell = new Shell(router);
let isFirst = true;
/** The path of the shown view. */
let shown = null;
/** Whether the URL changed while no operator was signed in. */
let isMissed = false;

async function show(view) {
  isMissed = !auth.current;
  if (isMissed) return;
  const { route, path, signal } = view;
  const isRedrawn = path === shown;
  if (!isRedrawn) for (const box of document.querySelectorAll('dialog[open]:not(.signIn)')) box.close();
  shell.select(route?.area);
  const main = shell.begin(isRedrawn);
  shown = path;
  // A late redraw of a view that the operator has left does nothing.
  const redraw = () => (shown === path ? router.refresh() : undefined);
  try {
    if (!route) throw new APIError(101, '');
    if (!sees(route.sheet ?? route.area)) {
      fill(main, elsewhere(router));
      return title(main);
    }
    const page = await route.load().catch(missingModule);
    if (signal.aborted) return;
    const content = await page.render({ ...view, router, redraw });
    if (signal.aborted) return;
    const typed = typedIn(main);
    fill(main, content);
    for (const text of retype(main, typed)) toast(t('unsaved.conflict', { text }), 'bad');
    title(main);
  } catch (error) {
    if (signal.aborted || error?.name === 'AbortError') return;
    // The problem would replace the typed text.
    if (unsaved(main).length) return failure(error);
    fill(
      main,
      problem(error, () => router.refresh(), router),
    );
    title(main);
  }
}

/** Announces the view: by the window's title, and by the focus for screen readers. */
function title(main) {
  const heading = main.querySelector('h1');
  document.title = heading ? `${heading.textContent} · ${server.shop}` : server.shop;
  if (heading && !isFirst && !main.contains(document.activeElement)) {
    heading.tabIndex = -1;
    heading.focus({ preventScroll: true });
  }
  if (!isFirst) scrollTo(0, 0);
  isFirst = false;
}

function askToSignIn(note, name) {
  auth.onExpired(null);
  router.leave();
  forgetAll();
  areas.forget();
  shown = null;
  document.title = `${t('signIn.title')} · ${server.shop}`;
  fill(document.body, signIn({ note, name, done: open }));
  for (const box of document.querySelectorAll('dialog')) box.remove();
}

function open() {
  isFirst = true;
  shown = null;
  auth.onExpired(enterAgain);
  fill(document.body, shell.element());
  return router.refresh();
}

/** Continues with the same operator; the page of another one is loaded anew. */
async function enterAgain({ objectId }, isKept) {
  const entered = await signInAgain(isKept);
  if (!entered) return auth.end(false);
  const { token, user } = auth.current;
  if (user.objectId === objectId) return isMissed ? router.refresh() : undefined;
  auth.end(false);
  auth.begin(token, user, entered.keeps);
  comeBack();
}

/** Restores a stored session: the user's areas may have changed since. */
async function comeBack() {
  fill(document.body, h('main', bones()));
  try {
    if ((await areas.learn()).length) return open();
    await leave();
    askToSignIn(t('signIn.noOperator'));
  } catch (error) {
    if (auth.current) fill(document.body, h('main.entry', problem(error, comeBack)));
  }
}

/** The view of a mailed link. A session in this tab may be another person's. */
async function invite() {
  const { invitation, tokenOf } = await import('./shell/invitation.js');
  document.title = `${t('invitation.title')} · ${server.shop}`;
  const accepted = (name) => {
    router.go('/', {}, { replace: true });
    askToSignIn(null, name);
    toast(t('invitation.done'));
  };
  fill(document.body, invitation({ token: tokenOf(location.hash), done: accepted }));
}

theme.apply();
await loadTexts(new URL('texts/', import.meta.url)).catch(withoutTexts);
auth.onEnd((expired) => askToSignIn(expired ? t('signIn.expired') : null));
router.start();
listenForSearch(router);
watchConnection(() => document.querySelector('#content .sorry') && router.refresh());
shareSession('/dashboard');
if (/^\/dashboard\/invitation\/?$/.test(location.pathname)) await invite();
else if (auth.restore() ?? (await takeSession())) await comeBack();
else askToSignIn(null);
