// Changes that can be taken back.

/** The change of an object that takes another change of it back. */
export function reverse(object, change) {
  return Object.fromEntries(Object.keys(change).map((name) => [name, object[name] ?? { __op: 'Delete' }]));
}

/** The object after a change. */
export function changed(object, change) {
  const next = { ...object, ...change };
  for (const [name, value] of Object.entries(change)) if (value?.__op === 'Delete') delete next[name];
  return next;
}
