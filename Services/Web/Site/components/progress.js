// Reading a response piece by piece.

/**
 * @param told takes the number of bytes so far and of all bytes; 0 when that is unknown
 * @returns a blob
 */
export async function read(response, told) {
  const type = response.headers.get('Content-Type') ?? '';
  // The length of a compressed body counts the compressed bytes.
  const length = response.headers.get('Content-Encoding') ? 0 : Number(response.headers.get('Content-Length')) || 0;
  const parts = [];
  let received = 0;
  for (const reader = response.body.getReader(); ; ) {
    const { done, value } = await reader.read();
    if (done) break;
    parts.push(value);
    received += value.length;
    told(received, length);
  }
  return new Blob(parts, { type });
}

/** Whole percents; null when the length is unknown. */
export const percent = (received, length) => (length > 0 ? Math.min(100, Math.floor((received / length) * 100)) : null);

const STORE = 'satchel-images';

/**
 * The response for a picture, from this browser's store if it is there, else from the network and then kept.
 * @param most the number of pictures that stay; the oldest go first
 */
export async function kept(url, most, signal) {
  const store = most > 0 && globalThis.caches ? await caches.open(STORE).catch(() => null) : null;
  const known = await store?.match(url);
  if (known) return known;
  const response = await fetch(url, { signal, credentials: 'omit' });
  if (!response.ok) throw new Error(`${response.status}`);
  if (store) keep(store, url, response.clone(), most);
  return response;
}

/** A full disk, or a private window, keeps nothing. */
async function keep(store, url, response, most) {
  try {
    await store.put(url, response);
    const urls = await store.keys();
    await Promise.all(urls.slice(0, Math.max(0, urls.length - most)).map((old) => store.delete(old)));
  } catch {
    // The picture is shown all the same.
  }
}
