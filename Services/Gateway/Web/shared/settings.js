// What the page was told by the gateway, and what a person chose for this browser. No cookies.

/** A word of the page about its server; empty when there is none of that name. */
export const meta = (name) => document.querySelector(`meta[name="satchel-${name}"]`)?.content ?? '';

/** The gateway's own words: the same for everybody who opens the page. */
export const server = {
  mount: meta('mount').replace(/\/$/, ''),
  applicationId: meta('application-id'),
  clientKey: meta('client-key'),
  currency: meta('currency') || 'usd',
  shop: meta('shop') || 'Satchel',
  /** The address of the pictures of maps with `{z}`, `{x}` and `{y}`, and whose they are; empty for none. */
  tiles: meta('tiles'),
  tilesAttribution: meta('tiles-attribution'),
};

/** A choice that is kept in this browser; storage may be forbidden, then it holds for as long as the page is open. */
export function preference(name, standard) {
  const key = `satchel.${name}`;
  let value = read(key) ?? standard;
  return {
    get: () => value,
    set(next) {
      value = next;
      try {
        localStorage.setItem(key, next);
      } catch {
        // The page goes on without.
      }
    },
  };
}

function read(key) {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

/** Light, dark, or as the system has it. */
export const theme = {
  choice: preference('theme', 'system'),
  apply() {
    const choice = theme.choice.get();
    if (choice === 'system') delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = choice;
  },
  isDark() {
    const choice = theme.choice.get();
    return choice === 'dark' || (choice === 'system' && matchMedia('(prefers-color-scheme: dark)').matches);
  },
  toggle() {
    theme.choice.set(theme.isDark() ? 'light' : 'dark');
    theme.apply();
  },
};
