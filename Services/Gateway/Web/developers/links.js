// The addresses of routes' pages.

const FUNCTION = 'function.';

/** A function by its name, any other route by the document's id. */
export function pathOf({ id }) {
  return id.startsWith(FUNCTION) ? `/functions/${id.slice(FUNCTION.length)}` : `/routes/${id}`;
}
