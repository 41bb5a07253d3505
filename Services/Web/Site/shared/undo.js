// Changes that can be taken back.

/** The change of an object that takes another change of it back. */
export function reverse(object, change) {
  return Object.fromEntries(Object.keys(change).map((name) => [name, object[name] ?? { __op: 'Delete' }]));
}
