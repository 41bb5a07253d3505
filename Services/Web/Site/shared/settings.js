// Settings from the gateway in the page, and the user's choices in this browser. No cookies.

/** A setting from the page; empty when there is none of that name. */
export const meta = (name) => document.querySelector(`meta[name="satchel-${name}"]`)?.content ?? '';

/** A time zone that this browser knows. */
function knownZone(timeZone) {
  try {
    return new Intl.DateTimeFormat('en', { timeZone }).resolvedOptions() && timeZone;
  } catch {
    return 'UTC';
  }
}

/** The gateway's settings, the same for every visitor. */
export const server = {
  mount: meta('mount').replace(/\/$/, ''),
  applicationId: meta('application-id'),
  clientKey: meta('client-key'),
  currency: meta('currency') || 'usd',
  shop: meta('shop') || 'Satchel',
  /** The shop's zone: pages show times and days in it. */
  timeZone: knownZone(meta('time-zone') || 'UTC'),
  /** Codes of the languages that have texts. */
  languages: (meta('languages') || 'en').split(' '),
  /** The URL template of map tiles with `{z}`, `{x}` and `{y}`, and their attribution; empty for none. */
  tiles: meta('tiles'),
  tilesAttribution: meta('tiles-attribution'),
};

/** A choice that is stored in this browser; if storage is forbidden, it lasts as long as the page is open. */
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
        // The page works without storage.
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

/** Light, dark, or the system's setting. */
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
