// The products that this browser has shown last. They are in its storage alone; the shop never gets them.

const NAME = 'satchel-viewed';
const MOST = 8;

const isText = (value) => typeof value === 'string' && value !== '';

/** The kept products, newest first, without entries that are no products of this shop. */
export function viewed(storage) {
  try {
    const found = JSON.parse(storage.getItem(NAME) ?? '[]');
    return found
      .filter(({ id, name, href }) => isText(id) && isText(name) && isText(href) && href.startsWith('/products/'))
      .slice(0, MOST);
  } catch {
    return [];
  }
}

/** Puts a product at the front. */
export function view(storage, product) {
  const rest = viewed(storage).filter(({ id }) => id !== product.id);
  try {
    storage.setItem(NAME, JSON.stringify([product, ...rest].slice(0, MOST)));
  } catch {
    // The storage is full or turned off.
  }
}

export function forget(storage) {
  try {
    storage.removeItem(NAME);
  } catch {
    // The storage is turned off.
  }
}
