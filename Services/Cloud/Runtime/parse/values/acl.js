'use strict';
const types = require('../types');

const PUBLIC = '*';
const RIGHTS = ['read', 'write'];

/** The permissions of an object: which users and roles may read and write it. */
class ACL {
  /** @param source a user with both permissions, an ACL's JSON, or nothing */
  constructor(source) {
    this.permissionsById = {};
    if (source instanceof types.User) {
      this.setReadAccess(source, true);
      this.setWriteAccess(source, true);
    } else if (source && typeof source === 'object') {
      for (const [id, rights] of Object.entries(source)) this.#take(id, rights);
    } else if (typeof source === 'function') {
      throw new TypeError('An ACL is created from a user or an object, not from a function.');
    }
  }

  #take(id, rights) {
    if (rights === null || typeof rights !== 'object') throw new TypeError(`The rights of ${id} must be an object.`);
    this.permissionsById[id] = {};
    for (const [right, allowed] of Object.entries(rights)) {
      if (!RIGHTS.includes(right)) throw new TypeError(`An ACL has the rights read and write, not ${right}.`);
      if (typeof allowed !== 'boolean') throw new TypeError(`The right ${right} of ${id} must be true or false.`);
      this.permissionsById[id][right] = allowed;
    }
  }

  toJSON() {
    return JSON.parse(JSON.stringify(this.permissionsById));
  }

  equals(other) {
    if (!(other instanceof ACL)) return false;
    const ids = Object.keys(this.permissionsById);
    if (ids.length !== Object.keys(other.permissionsById).length) return false;
    return ids.every((id) => RIGHTS.every((right) => this.#has(id, right) === other.#has(id, right)));
  }

  #has(id, right) {
    return !!(this.permissionsById[id] && this.permissionsById[id][right]);
  }

  #set(id, right, allowed) {
    if (typeof allowed !== 'boolean') throw new TypeError('allowed must be either true or false.');
    const rights = this.permissionsById[id];
    if (allowed) this.permissionsById[id] = { ...rights, [right]: true };
    else if (rights) {
      delete rights[right];
      if (Object.keys(rights).length === 0) delete this.permissionsById[id];
    }
  }

  setReadAccess(who, allowed) {
    this.#set(idOf(who), 'read', allowed);
  }

  setWriteAccess(who, allowed) {
    this.#set(idOf(who), 'write', allowed);
  }

  getReadAccess(who) {
    return this.#has(idOf(who), 'read');
  }

  getWriteAccess(who) {
    return this.#has(idOf(who), 'write');
  }

  setPublicReadAccess(allowed) {
    this.#set(PUBLIC, 'read', allowed);
  }

  setPublicWriteAccess(allowed) {
    this.#set(PUBLIC, 'write', allowed);
  }

  getPublicReadAccess() {
    return this.#has(PUBLIC, 'read');
  }

  getPublicWriteAccess() {
    return this.#has(PUBLIC, 'write');
  }

  setRoleReadAccess(role, allowed) {
    this.#set(idOfRole(role), 'read', allowed);
  }

  setRoleWriteAccess(role, allowed) {
    this.#set(idOfRole(role), 'write', allowed);
  }

  getRoleReadAccess(role) {
    return this.#has(idOfRole(role), 'read');
  }

  getRoleWriteAccess(role) {
    return this.#has(idOfRole(role), 'write');
  }
}

function idOf(who) {
  if (who instanceof types.Role) return idOfRole(who);
  const id = who instanceof types.User ? who.id : who;
  if (typeof id !== 'string' || id === '') throw new TypeError('An ACL needs a saved user, a role or an id.');
  return id;
}

function idOfRole(role) {
  const name = role instanceof types.Role ? role.getName() : role;
  if (typeof name !== 'string' || name === '') throw new TypeError('An ACL needs a role with a name.');
  return `role:${name}`;
}

types.ACL = ACL;
module.exports = { ACL };
