// Settings of many processes as one list; and what is not to be shown of an address.

const MASK = '••••••';

/**
 * One row for each setting and value: `{ name, value, isDefault, isSecret, processes, differs }`. `differs` says that
 * processes run with different values of it.
 */
export function merged(processes) {
  const rows = new Map();
  for (const { service, settings } of processes) {
    for (const { name, value, isDefault, isSecret } of settings ?? []) {
      const key = JSON.stringify([name, value, isDefault]);
      const row = rows.get(key) ?? { name, value, isDefault, isSecret, processes: [] };
      row.processes.push(service);
      rows.set(key, row);
    }
  }
  const all = [...rows.values()].sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
  const values = new Map();
  for (const { name, value } of all) values.set(name, new Set([...(values.get(name) ?? []), value]));
  return all.map((row) => ({ ...row, differs: values.get(row.name).size > 1 }));
}

/** An address without a password, and without what its parameters say of keys: for the eyes of who stands by. */
export function maskedURL(text) {
  return String(text)
    .replace(/(:\/\/)[^/?#\s]*@/g, `$1${MASK}@`)
    .replace(/([?&][^=&#\s]*(?:key|token|secret|password|signature)[^=&#\s]*=)[^&#\s]*/gi, `$1${MASK}`);
}
