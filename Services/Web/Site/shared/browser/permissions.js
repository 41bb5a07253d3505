// Class-level permissions: the protocol's form, the grid of the editor, and the differences of two versions.

export const actions = ['find', 'get', 'count', 'create', 'update', 'delete', 'addField'];
/** Everyone, and every user with a session: both are always in the grid. */
export const everybody = '*';
export const signedIn = 'requiresAuthentication';

const WHO = /^(\*|requiresAuthentication|role:[^\p{Cc}]{1,128}|[A-Za-z0-9_-]{1,64})$/u;
const GROUP = /^(\*|authenticated|role:[^\p{Cc}]{1,128}|userField:[A-Za-z]\w{0,127}|[A-Za-z0-9_-]{1,64})$/u;
/** Whether permissions can be granted to a name: `*`, `requiresAuthentication`, a role or a user's id. */
export const isGrantee = (name) => WHO.test(name);
/** Whether fields can be hidden from a group of this name. */
export const isGroup = (name) => GROUP.test(name);

const copy = (value) => JSON.parse(JSON.stringify(value));
const sorted = (names) => [...new Set(names)].sort();

/** Permissions with every part: a missing part grants nothing, missing permissions grant everything. */
export function complete(permissions) {
  const given = permissions ?? Object.fromEntries(actions.map((action) => [action, { [everybody]: true }]));
  const whole = Object.fromEntries(actions.map((action) => [action, copy(given[action] ?? {})]));
  whole.readUserFields = copy(given.readUserFields ?? []);
  whole.writeUserFields = copy(given.writeUserFields ?? []);
  whole.protectedFields = copy(given.protectedFields ?? {});
  return whole;
}

/** The grantees in the grid: everyone and signed-in users, then roles, then users. */
export function grantees(permissions) {
  const named = actions.flatMap((action) =>
    Object.keys(permissions[action]).filter((name) => name !== 'pointerFields'),
  );
  const others = sorted(named).filter((name) => name !== everybody && name !== signedIn);
  const isRole = (name) => name.startsWith('role:');
  return [everybody, signedIn, ...others.filter(isRole), ...others.filter((name) => !isRole(name))];
}

/** The fields in the grid that name users and grant something. */
export function pointerFields(permissions) {
  const all = actions.flatMap((action) => permissions[action].pointerFields ?? []);
  return sorted([...all, ...permissions.readUserFields, ...permissions.writeUserFields]);
}

export const may = (permissions, who, action) => permissions[action][who] === true;

/** Permissions with one grant added or removed. */
export function granted(permissions, who, action, isGiven) {
  const next = copy(permissions);
  if (isGiven) next[action][who] = true;
  else delete next[action][who];
  return next;
}

export function pointed(permissions, field, action) {
  return (permissions[action].pointerFields ?? []).includes(field);
}

/** Permissions with a user field added to or removed from an action. */
export function withPointer(permissions, field, action, isGiven) {
  const next = copy(permissions);
  const others = (next[action].pointerFields ?? []).filter((name) => name !== field);
  const names = isGiven ? sorted([...others, field]) : others;
  if (names.length) next[action].pointerFields = names;
  else delete next[action].pointerFields;
  return next;
}

/** Permissions with a group's hidden fields; null removes the group. */
export function withProtected(permissions, group, fields) {
  const next = copy(permissions);
  if (fields) next.protectedFields[group] = sorted(fields);
  else delete next.protectedFields[group];
  return next;
}

/** Permissions with the fields whose users may read or write: the protocol's older form. */
export function withUserFields(permissions, part, field, isGiven) {
  const next = copy(permissions);
  const others = next[part].filter((name) => name !== field);
  next[part] = isGiven ? sorted([...others, field]) : others;
  return next;
}

/** The request form: without empty parts, except the actions, which then grant nothing. */
export function wire(permissions) {
  const sent = copy(permissions);
  for (const part of ['readUserFields', 'writeUserFields']) if (!sent[part].length) delete sent[part];
  return sent;
}

/**
 * The differences, `{ part, who, what, isGiven, isForAll }`: the part is `grant`, `pointer`, `user`, `hidden` or
 * `shown`; `who` is a grantee, field or group; `what` is an action or a field. Members of a group without hidden fields
 * see everything. `isForAll` marks a grant to everyone, or a field shown to everyone.
 */
export function difference(before, after) {
  const [old, now] = [facts(before), facts(after)];
  const change = (fact, isGiven) => {
    const [part, who, what] = JSON.parse(fact);
    return { part, who, what, isGiven, isForAll: who === everybody && isGiven !== (part === 'hidden') };
  };
  return [
    ...[...now].filter((fact) => !old.has(fact)).map((fact) => change(fact, true)),
    ...[...old].filter((fact) => !now.has(fact)).map((fact) => change(fact, false)),
  ];
}

/** Each fact of the permissions, as a comparable text. */
function facts(permissions) {
  const whole = complete(permissions);
  const found = new Set();
  const add = (...fact) => found.add(JSON.stringify(fact));
  for (const action of actions) {
    for (const [who, value] of Object.entries(whole[action])) {
      if (who === 'pointerFields') for (const field of value) add('pointer', field, action);
      else if (value === true) add('grant', who, action);
    }
  }
  for (const field of whole.readUserFields) add('user', field, 'read');
  for (const field of whole.writeUserFields) add('user', field, 'write');
  const groups = Object.entries(whole.protectedFields);
  const hidesAny = groups.some(([, fields]) => fields.length);
  for (const [group, fields] of groups) {
    for (const field of fields) add('hidden', group, field);
    if (hidesAny && !fields.length) add('shown', group, '');
  }
  return found;
}
