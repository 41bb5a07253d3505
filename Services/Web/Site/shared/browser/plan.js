// The database's plan for a query and its cost: whether an index finds the rows, or every row is scanned.

// The words of SQLite and PostgreSQL.
const INDEX =
  /USING (?:COVERING )?INDEX (\S+)|^(?:Parallel )?(?:Index(?: Only)? Scan (?:Backward )?using|Bitmap Index Scan on) (\S+)/;

/**
 * The kind of a step: `search` by an index, `ordered` through a whole index, `scan` of all rows, `sort`, or `other`.
 */
export function kindOf(detail) {
  if (/^SCAN /.test(detail)) {
    if (/VIRTUAL TABLE|json_each|CONSTANT ROW|SUBQUERY/i.test(detail)) return 'other';
    return INDEX.test(detail) ? 'ordered' : 'scan';
  }
  if (/^SEARCH /.test(detail)) return 'search';
  if (/^(Parallel )?Seq Scan /.test(detail)) return 'scan';
  if (/^(Parallel )?(Index|Bitmap Index) /.test(detail)) return / Index Cond: /.test(detail) ? 'search' : 'ordered';
  return /TEMP B-TREE|^(Incremental )?Sort\b/.test(detail) ? 'sort' : 'other';
}

/**
 * The steps in order, `{ depth, kind, index, detail }`; `index` is the name of the used index.
 * @param steps as the server returns them, `{ id, parent, detail }`.
 */
export function stepsOf(steps) {
  const depths = new Map([[0, -1]]);
  return steps.map(({ id, parent, detail }) => {
    const depth = (depths.get(parent) ?? -1) + 1;
    depths.set(id, depth);
    const byKey = /USING (?:INTEGER )?PRIMARY KEY/.test(detail) ? 'objectId' : null;
    return { depth, kind: kindOf(detail), index: indexOf(detail) ?? byKey, detail };
  });
}

function indexOf(detail) {
  const found = INDEX.exec(detail);
  return found?.[1] ?? found?.[2];
}

/** The cost of the whole plan: its most expensive step; `none` without a step. */
export function verdict(steps) {
  const kinds = steps.map(({ detail }) => kindOf(detail));
  return ['scan', 'ordered', 'search'].find((kind) => kinds.includes(kind)) ?? 'none';
}
