'use strict';
// The Parse object for cloud code, as a global and from require('parse/node').
require('./values/geo');
require('./objects/relation');
const { ACL } = require('./values/acl');
const { decode, encode } = require('./codec');
const { ParseError } = require('./error');
const { GeoPoint, Polygon } = require('./values/geo');
const { ParseObject } = require('./objects/object');
require('./objects/object-class');
require('./objects/object-rest');
const ops = require('./objects/ops');
const { ParsePromise } = require('./promise');
const { Query } = require('./queries/query');
require('./queries/query-rest');
const { Relation } = require('./objects/relation');
const { AnonymousUtils, FacebookUtils, User } = require('./accounts/user');
const { Installation, Role, Session } = require('./accounts/classes');
const { File } = require('./values/file');
const { Analytics, Config, Push } = require('./services');
const { Schema } = require('./admin/schema');
const { CLP } = require('./admin/clp');
const { Hooks } = require('./admin/hooks');
const { Cloud } = require('./cloud');
const underscore = require('./underscore');
const { fixed } = require('./fixed');

const Parse = {
  VERSION: '5.3.0',
  ACL, Analytics, AnonymousUtils, CLP, Cloud, Config, Error: ParseError, FacebookUtils, File, GeoPoint, Hooks,
  Installation, Object: ParseObject, Polygon, Promise: ParsePromise, Push, Query, Relation, Role, Schema, Session, User,
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
