// The browser's worker: keeps the offline page and its files, and no page of a shopper.

const PAGE = '/offline';
/** One store per release: the path of this file has the digest of all files. */
const STORE = `shop ${self.location.pathname}`;
/** Files whose paths name their content. */
const FILES = /^\/(shop\/assets|theme)\//;
/** Pages of other parts of the server. */
const OTHERS = /^\/(dashboard|developers)(\/|$)/;

async function install() {
  const store = await caches.open(STORE);
  const page = await fetch(PAGE, { credentials: 'omit', cache: 'no-store' });
  if (!page.ok) throw new Error(`${PAGE}: ${page.status}`);
  const text = await page.clone().text();
  await store.put(PAGE, page);
  await store.addAll([...text.matchAll(/(?:href|src)="(\/(?:shop\/assets|theme)\/[^"]+)"/g)].map((found) => found[1]));
}

async function removeOlder() {
  const older = (await caches.keys()).filter((name) => name.startsWith('shop ') && name !== STORE);
  await Promise.all(older.map((name) => caches.delete(name)));
}

async function page(request) {
  try {
    return await fetch(request);
  } catch {
    return (await caches.match(PAGE)) ?? Response.error();
  }
}

const file = async (request) => (await caches.match(request)) ?? fetch(request);

self.addEventListener('install', (event) => event.waitUntil(install()));
self.addEventListener('activate', (event) => event.waitUntil(removeOlder()));
self.addEventListener('fetch', (event) => {
  const { request } = event;
  const { origin, pathname } = new URL(request.url);
  if (request.method !== 'GET' || origin !== self.location.origin) return;
  if (FILES.test(pathname)) event.respondWith(file(request));
  else if (request.mode === 'navigate' && !OTHERS.test(pathname)) event.respondWith(page(request));
});
