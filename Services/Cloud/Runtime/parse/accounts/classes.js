'use strict';
// The server's built-in classes: roles, sessions, installations.
const types = require('../types');
const { ParseError } = require('../error');
const { ParseObject } = require('../objects/object');
const { promised } = require('../promise');
const { answerOf } = require('../rest');

const ROLE_NAME = /^[0-9a-zA-Z\-_ ]+$/;

/** A group of users and of other roles. */
class Role extends ParseObject {
  constructor(name, acl) {
    super('_Role');
    if (typeof name === 'string' && acl instanceof types.ACL) {
      this.setName(name);
      this.setACL(acl);
    }
  }

  getName() {
    const name = this.get('name');
    return name === null || name === undefined || typeof name === 'string' ? name : '';
  }

  setName(name, options) {
    this._checkName(name);
    return this.set('name', name, options);
  }

  getUsers() {
    return this.relation('users');
  }

  getRoles() {
    return this.relation('roles');
  }

  _checkName(name) {
    if (typeof name !== 'string') throw new ParseError(ParseError.OTHER_CAUSE, "A role's name must be a String.");
    if (!ROLE_NAME.test(name)) {
      throw new ParseError(ParseError.OTHER_CAUSE, "A role's name has only letters, digits, _, - and spaces.");
    }
  }

  validate(attributes) {
    const refusal = super.validate(attributes);
    if (refusal || !('name' in attributes) || attributes.name === this.get('name')) return refusal;
    if (this.id) {
      return new ParseError(ParseError.OTHER_CAUSE, "A role's name can only be set before it has been saved.");
    }
    try {
      this._checkName(attributes.name);
    } catch (error) {
      return error;
    }
    return false;
  }
}

/** A sign-in of a user on a device. */
class Session extends ParseObject {
  constructor(attributes, options) {
    super('_Session', typeof attributes === 'string' ? undefined : attributes, options);
  }

  getSessionToken() {
    return this.get('sessionToken') || '';
  }

  static readOnlyAttributes() {
    return ['createdWith', 'expiresAt', 'installationId', 'restricted', 'sessionToken', 'user'];
  }

  static current(options = {}) {
    return promised(async () => {
      const json = await answerOf('GET', '/sessions/me', {}, options);
      return ParseObject.fromJSON({ ...json, className: '_Session' });
    }, options);
  }

  static isCurrentSessionRevocable() {
    return true;
  }
}

/** A device that can receive push notifications. */
class Installation extends ParseObject {
  constructor(attributes, options) {
    super('_Installation', typeof attributes === 'string' ? undefined : attributes, options);
  }

  static currentInstallation() {
    return promised(Promise.reject(new ParseError(
      ParseError.COMMAND_UNAVAILABLE, 'A server is not an installation; request.installationId is the caller\'s.'
    )));
  }
}

for (const [className, constructor] of [['_Role', Role], ['_Session', Session], ['_Installation', Installation]]) {
  ParseObject.registerSubclass(className, constructor);
}
types.Role = Role;

module.exports = { Installation, Role, Session };
