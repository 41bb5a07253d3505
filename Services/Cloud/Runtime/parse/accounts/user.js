'use strict';
const crypto = require('node:crypto');
const types = require('../types');
const { ParseError } = require('../error');
const { ParseObject } = require('../objects/object');
const { promised, withoutCallbacks } = require('../promise');
const { answerOf, request } = require('../rest');
const { currentRun } = require('../../scope');
const { settings } = require('../../settings');

/** A user from the answer to a sign-in. */
function userOf(json) {
  return ParseObject.fromJSON({ ...json, className: '_User' });
}

/** @param known fields that the answer may lack */
function signedIn(path, body, options, known = {}) {
  return promised(async () => userOf({ ...known, ...(await answerOf('POST', path, body, options)) }), options);
}

class User extends ParseObject {
  constructor(attributes, options) {
    super('_User', typeof attributes === 'string' ? undefined : attributes, options);
  }

  getUsername() {
    return this.get('username');
  }

  /** A user name turns an anonymous user into a regular one. */
  setUsername(username) {
    this.stripAnonymity();
    this.set('username', username);
  }

  setPassword(password) {
    this.set('password', password);
  }

  getEmail() {
    return this.get('email');
  }

  setEmail(email) {
    return this.set('email', email);
  }

  getSessionToken() {
    return this.get('sessionToken');
  }

  /** Whether the user has a session token: a server has no other current user. */
  authenticated() {
    return !!this.getSessionToken();
  }

  isCurrent() {
    const current = User.current();
    return !!current && current.id === this.id;
  }

  async isCurrentAsync() {
    return this.isCurrent();
  }

  stripAnonymity() {
    const authData = this.get('authData');
    if (authData && authData.anonymous) this.set('authData', { ...authData, anonymous: null });
  }

  signUp(attributes, options = {}) {
    return promised(async () => {
      if (attributes) this.set(attributes);
      if (!this.get('username')) {
        throw new ParseError(ParseError.USERNAME_MISSING, 'Cannot sign up user with an empty username.');
      }
      if (!this.get('password')) {
        throw new ParseError(ParseError.PASSWORD_MISSING, 'Cannot sign up user with an empty password.');
      }
      await this.save(null, withoutCallbacks(options));
      this._state.forget('password');
      return this;
    }, options, this);
  }

  logIn(options = {}) {
    return promised(async () => {
      const body = { username: this.get('username'), password: this.get('password') };
      const json = await answerOf('POST', '/login', body, options);
      this.revert();
      this._finishFetch(json);
      this._state.existed = true;
      return this;
    }, options, this);
  }

  linkWith(provider, { authData } = {}, options = {}) {
    const type = typeof provider === 'string' ? provider : provider.getAuthType();
    const rights = { sessionToken: this.getSessionToken(), ...options };
    return this.save({ authData: { ...this.get('authData'), [type]: authData } }, rights);
  }

  _linkWith(...values) {
    return this.linkWith(...values);
  }

  _unlinkFrom(provider, options) {
    return this.linkWith(provider, { authData: null }, options);
  }

  _isLinked(provider) {
    const type = typeof provider === 'string' ? provider : provider.getAuthType();
    return !!(this.get('authData') || {})[type];
  }

  verifyPassword(password, options) {
    return User.verifyPassword(this.getUsername(), password, options);
  }

  static readOnlyAttributes() {
    return ['sessionToken'];
  }

  /** Undefined, as on Parse Server; the caller if the settings select hosted Parse's behaviour. */
  static current() {
    const run = currentRun();
    const user = settings.config.actAsCaller && run ? run.caller.user : null;
    return user ? userOf(user) : undefined;
  }

  static async currentAsync() {
    return User.current() || null;
  }

  static enableUnsafeCurrentUser() {}
  static disableUnsafeCurrentUser() {}
  static enableRevocableSession() {
    return promised(Promise.resolve());
  }

  static signUp(username, password, attributes, options) {
    return new User({ ...attributes, username, password }).signUp(null, options);
  }

  static logIn(username, password, options = {}) {
    if (typeof username !== 'string') {
      return promised(Promise.reject(new ParseError(ParseError.OTHER_CAUSE, 'Username must be a string.')), options);
    }
    if (typeof password !== 'string') {
      return promised(Promise.reject(new ParseError(ParseError.OTHER_CAUSE, 'Password must be a string.')), options);
    }
    return signedIn('/login', { username, password }, options);
  }

  static logInWithAdditionalAuth(username, password, authData, options = {}) {
    return signedIn('/login', { username, password, authData }, options);
  }

  static logInWith(provider, { authData } = {}, options = {}) {
    const type = typeof provider === 'string' ? provider : provider.getAuthType();
    const linked = { authData: { [type]: authData } };
    return signedIn('/users', linked, options, linked);
  }

  static loginAs(userId) {
    if (!userId) {
      const refusal = new ParseError(ParseError.USERNAME_MISSING, 'Cannot log in as user with an empty user id');
      return promised(Promise.reject(refusal));
    }
    return signedIn('/loginAs', { userId }, { useMasterKey: true });
  }

  /** The user of a session. */
  static become(sessionToken, options = {}) {
    return promised(async () => {
      const json = await answerOf('GET', '/users/me', {}, { ...options, useMasterKey: false, sessionToken });
      const user = { ...json, sessionToken: json.sessionToken || sessionToken };
      const run = currentRun();
      if (run && settings.config.actAsCaller) run.caller = { ...run.caller, user };
      return userOf(user);
    }, options);
  }

  static me(sessionToken, options) {
    return User.become(sessionToken, options);
  }

  static hydrate(json) {
    return promised(Promise.resolve(userOf(json)));
  }

  static logOut(options = {}) {
    return promised(async () => {
      await request('POST', '/logout', {}, options);
    }, options);
  }

  static requestPasswordReset(email, options = {}) {
    return promised(answerOf('POST', '/requestPasswordReset', { email }, options), options);
  }

  static requestEmailVerification(email, options = {}) {
    return promised(answerOf('POST', '/verificationEmailRequest', { email }, options), options);
  }

  static verifyPassword(username, password, options = {}) {
    return signedIn('/verifyPassword', { username, password }, options);
  }

  static allowCustomUserClass() {}
}

User.className = '_User';
ParseObject.registerSubclass('_User', User);
types.User = User;

/** Users without a name, which apps create before a sign-up. */
const AnonymousUtils = {
  isLinked: (user) => user._isLinked('anonymous'),
  logIn: (options) => User.logInWith('anonymous', { authData: { id: crypto.randomUUID() } }, options),
  link: (user, options) => user.linkWith('anonymous', { authData: { id: crypto.randomUUID() } }, options),
};

const FacebookUtils = {
  init() {},
  isLinked: (user) => user._isLinked('facebook'),
  logIn: (authData, options) => User.logInWith('facebook', { authData }, options),
  link: (user, authData, options) => user.linkWith('facebook', { authData }, options),
  unlink: (user, options) => user._unlinkFrom('facebook', options),
};

module.exports = { AnonymousUtils, FacebookUtils, User };
