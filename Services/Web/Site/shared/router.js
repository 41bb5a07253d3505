// Maps the URL's path to views. Links are real links: they open in new tabs, and the browser's history works.

export class Router {
  #routes;
  #base;
  #show;
  #abort = new AbortController();
  #guard;
  /** The URL of the shown view. */
  #shown = null;
  /** The last query of each path. */
  #queries = new Map();

  /**
   * @param base the path above all views, `/dashboard`.
   * @param routes the views by pattern, `/orders/:id`.
   * @param show is called with `{ route, params, query, path, signal }`; the signal ends with the view.
   * @param guard `{ isNeeded(), mayLeave() }` for links and the browser's buttons: whether a view must not be left at
   *   once, and then the question whether it may.
   */
  constructor(base, routes, show, guard = { isNeeded: () => false }) {
    this.#base = base;
    this.#routes = Object.entries(routes).map(([pattern, route]) => ({ parts: parts(pattern), route }));
    this.#show = show;
    this.#guard = guard;
  }

  start() {
    addEventListener('popstate', () => this.#step());
    document.addEventListener('click', (event) => this.#follow(event));
    return this.refresh();
  }

  /** A path with the base, for links. */
  href(path, query = {}) {
    const chosen = Object.entries(query).filter(([, value]) => value !== '' && value !== undefined && value !== null);
    const text = new URLSearchParams(chosen).toString();
    return this.#base + (path === '/' ? '' : path) + (text ? `?${text}` : '');
  }

  /** The URL of a list as it was last shown, with its search and filter. */
  back(path) {
    return this.#base + path + (this.#queries.get(path) ?? '');
  }

  go(path, query, { replace = false } = {}) {
    history[replace ? 'replaceState' : 'pushState'](null, '', this.href(path, query));
    return this.refresh();
  }

  /** Aborts the requests of the current view. */
  leave() {
    this.#abort.abort(new DOMException('The view was left.', 'AbortError'));
  }

  refresh() {
    this.leave();
    this.#abort = new AbortController();
    const path = location.pathname.slice(this.#base.length) || '/';
    const given = parts(path);
    this.#queries.set(path, location.search);
    this.#shown = location.href;
    let found = { route: null, params: {} };
    for (const { parts: wanted, route } of this.#routes) {
      const params = match(wanted, given);
      if (params) {
        found = { route, params };
        break;
      }
    }
    const query = Object.fromEntries(new URLSearchParams(location.search));
    return this.#show({ ...found, path, query, signal: this.#abort.signal });
  }

  /** The browser has already changed the URL; it is restored while the operator is asked. */
  async #step() {
    const wanted = location.href;
    if (wanted === this.#shown || !this.#guard.isNeeded()) return this.refresh();
    history.pushState(null, '', this.#shown);
    if (await this.#guard.mayLeave()) history.back();
  }

  async #follow(event) {
    const link = event.target.closest?.('a[href]');
    if (!link || event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey) return;
    const url = new URL(link.href);
    const isOurs = url.pathname === this.#base || url.pathname.startsWith(`${this.#base}/`);
    if (link.target || url.origin !== location.origin || !isOurs || link.getAttribute('href').startsWith('#')) return;
    event.preventDefault();
    if (this.#guard.isNeeded() && !(await this.#guard.mayLeave())) return;
    if (link.href !== location.href) history.pushState(null, '', link.href);
    this.refresh();
  }
}

function parts(path) {
  return path.split('/').filter(Boolean);
}

function match(wanted, given) {
  if (wanted.length !== given.length) return null;
  const params = {};
  for (const [index, part] of wanted.entries()) {
    if (!part.startsWith(':')) {
      if (part !== given[index]) return null;
    } else {
      try {
        params[part.slice(1)] = decodeURIComponent(given[index]);
      } catch {
        return null;
      }
    }
  }
  return params;
}
