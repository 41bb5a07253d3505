// Settings of several processes as one list, and the masking of secrets in URLs.

const MASK = '••••••';

/**
 * One row for each setting and value: `{ name, value, isDefault, isSecret, processes, differs }`. `differs` is set when
 * processes run with different values.
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

/** A URL without its password and without keys in its parameters, so that bystanders cannot read them. */
export function maskedURL(text) {
  return String(text)
    .replace(/(:\/\/)[^/?#\s]*@/g, `$1${MASK}@`)
    .replace(/([?&][^=&#\s]*(?:key|token|secret|password|signature)[^=&#\s]*=)[^&#\s]*/gi, `$1${MASK}`);
}
