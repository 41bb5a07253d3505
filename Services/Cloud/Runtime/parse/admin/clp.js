'use strict';
// Parse.CLP: the permissions of a class, as expected by Parse.Schema's setCLP().
const { alike } = require('../codec');
const types = require('../types');

const READING = ['get', 'find', 'count'];
const WRITING = ['create', 'update', 'delete', 'addField'];
const OPERATIONS = [...READING, ...WRITING];
const USER_FIELDS = ['readUserFields', 'writeUserFields'];
const PUBLIC = '*';
const SIGNED_IN = 'requiresAuthentication';

/** The key of permissions: a user's id, `role:<name>` or `*`. */
function keyOf(who) {
  if (who instanceof types.Role) return roleKey(who);
  const key = who instanceof types.User ? who.id : who;
  if (typeof key !== 'string' || !key) {
    throw new TypeError('Permissions need a saved user, the id of a user, or a role.');
  }
  return key;
}

function roleKey(role) {
  const name = role instanceof types.Role ? role.getName() : role;
  if (typeof name !== 'string' || !name) throw new TypeError('A role needs a name.');
  return `role:${name}`;
}

class CLP {
  /** @param permissions nothing, a user or role with all permissions, or permissions by operation */
  constructor(permissions) {
    this.permissionsMap = Object.fromEntries([...OPERATIONS, 'protectedFields'].map((name) => [name, {}]));
    if (permissions === undefined || permissions === null) return;
    if (permissions instanceof types.User || permissions instanceof types.Role) {
      this.setReadAccess(permissions, true);
      this.setWriteAccess(permissions, true);
    } else if (typeof permissions === 'object') {
      this.#take(permissions);
    } else {
      throw new TypeError('A CLP is created from a user, a role or permissions.');
    }
  }

  #take(permissions) {
    for (const [name, value] of Object.entries(permissions)) {
      if (USER_FIELDS.includes(name)) this.#setUserFields(name, value);
      else if (name in this.permissionsMap) this.permissionsMap[name] = { ...value };
      else throw new TypeError(`Permissions have no operation ${name}.`);
    }
  }

  toJSON() {
    return JSON.parse(JSON.stringify(this.permissionsMap));
  }

  equals(other) {
    return other instanceof CLP && alike(this.toJSON(), other.toJSON());
  }

  #set(operations, key, allowed) {
    if (typeof allowed !== 'boolean') throw new TypeError('A permission must be true or false.');
    for (const operation of operations) {
      if (allowed) this.permissionsMap[operation][key] = true;
      else delete this.permissionsMap[operation][key];
    }
  }

  #has(operations, key) {
    return operations.every((operation) => this.permissionsMap[operation][key] === true);
  }

  _setAccess(operation, who, allowed) {
    this.#set([operation], keyOf(who), allowed);
  }

  _getAccess(operation, who) {
    return this.#has([operation], keyOf(who));
  }

  setReadAccess(who, allowed) {
    this.#set(READING, keyOf(who), allowed);
  }

  getReadAccess(who) {
    return this.#has(READING, keyOf(who));
  }

  setWriteAccess(who, allowed) {
    this.#set(WRITING, keyOf(who), allowed);
  }

  getWriteAccess(who) {
    return this.#has(WRITING, keyOf(who));
  }

  setPublicReadAccess(allowed) {
    this.setReadAccess(PUBLIC, allowed);
  }

  getPublicReadAccess() {
    return this.getReadAccess(PUBLIC);
  }

  setPublicWriteAccess(allowed) {
    this.setWriteAccess(PUBLIC, allowed);
  }

  getPublicWriteAccess() {
    return this.getWriteAccess(PUBLIC);
  }

  setRoleReadAccess(role, allowed) {
    this.setReadAccess(roleKey(role), allowed);
  }

  getRoleReadAccess(role) {
    return this.getReadAccess(roleKey(role));
  }

  setRoleWriteAccess(role, allowed) {
    this.setWriteAccess(roleKey(role), allowed);
  }

  getRoleWriteAccess(role) {
    return this.getWriteAccess(roleKey(role));
  }

  /** The fields that are hidden from a user, a role or everyone. */
  setProtectedFields(who, fields) {
    if (!Array.isArray(fields)) throw new TypeError('Protected fields must be an array of names.');
    this.permissionsMap.protectedFields[keyOf(who)] = [...fields];
  }

  getProtectedFields(who) {
    return [...this.permissionsMap.protectedFields[keyOf(who)] || []];
  }

  setPublicProtectedFields(fields) {
    this.setProtectedFields(PUBLIC, fields);
  }

  getPublicProtectedFields() {
    return this.getProtectedFields(PUBLIC);
  }

  setRoleProtectedFields(role, fields) {
    this.setProtectedFields(roleKey(role), fields);
  }

  getRoleProtectedFields(role) {
    return this.getProtectedFields(roleKey(role));
  }

  #setUserFields(name, fields) {
    if (!Array.isArray(fields)) throw new TypeError(`${name} must be an array of field names.`);
    this.permissionsMap[name] = [...fields];
  }

  /** The pointer fields whose users may read an object. */
  setReadUserFields(fields) {
    this.#setUserFields('readUserFields', fields);
  }

  getReadUserFields() {
    return [...this.permissionsMap.readUserFields || []];
  }

  setWriteUserFields(fields) {
    this.#setUserFields('writeUserFields', fields);
  }

  getWriteUserFields() {
    return [...this.permissionsMap.writeUserFields || []];
  }
}

for (const operation of OPERATIONS) {
  const name = operation[0].toUpperCase() + operation.slice(1);
  CLP.prototype[`set${name}Access`] = function (who, allowed) {
    this._setAccess(operation, who, allowed);
  };
  CLP.prototype[`get${name}Access`] = function (who) {
    return this._getAccess(operation, who);
  };
  CLP.prototype[`set${name}RequiresAuthentication`] = function (allowed) {
    this._setAccess(operation, SIGNED_IN, allowed);
  };
  CLP.prototype[`get${name}RequiresAuthentication`] = function () {
    return this._getAccess(operation, SIGNED_IN);
  };
}

module.exports = { CLP };
