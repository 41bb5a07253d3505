// The URLs of the routes' pages.

const FUNCTION = 'function.';

/** A function by its name, any other route by its id in the document. */
export function pathOf({ id }) {
  return id.startsWith(FUNCTION) ? `/functions/${id.slice(FUNCTION.length)}` : `/routes/${id}`;
}
