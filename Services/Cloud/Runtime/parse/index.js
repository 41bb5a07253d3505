'use strict';
// The Parse that cloud code sees, as a global and by require('parse/node').
require('./geo');
require('./relation');
const { ACL } = require('./acl');
const { decode, encode } = require('./codec');
const { ParseError } = require('./error');
const { GeoPoint, Polygon } = require('./geo');
const { ParseObject } = require('./object');
require('./object-class');
require('./object-rest');
const ops = require('./ops');
const { ParsePromise } = require('./promise');
const { Query } = require('./query');
require('./query-rest');
const { Relation } = require('./relation');
const { AnonymousUtils, FacebookUtils, User } = require('./user');
const { Installation, Role, Session } = require('./classes');
const { File } = require('./file');
const { Analytics, Config, Push } = require('./services');
const { Schema } = require('./schema');
const { Cloud } = require('./cloud');
const underscore = require('./underscore');
const { fixed } = require('./fixed');

const Parse = {
  VERSION: '5.3.0',
  ACL, Analytics, AnonymousUtils, Cloud, Config, Error: ParseError, FacebookUtils, File, GeoPoint, Installation,
  Object: ParseObject, Polygon, Promise: ParsePromise, Push, Query, Relation, Role, Schema, Session, User,
  _: underscore,
  Op: {
    Add: ops.AddOp, AddUnique: ops.AddUniqueOp, Increment: ops.IncrementOp, Op: ops.Op, Relation: ops.RelationOp,
    Remove: ops.RemoveOp, Set: ops.SetOp, Unset: ops.UnsetOp,
  },
  initialize() {},
  isLocalDatastoreEnabled: () => false,
  _encode: (value) => encode(value),
  _decode: (key, value) => decode(value),
};

fixed(Parse);

// require('parse/node').Parse and `import Parse from` are the same object.
Object.defineProperty(Parse, 'Parse', { value: Parse });
Object.defineProperty(Parse, 'default', { value: Parse });

module.exports = { Parse };
