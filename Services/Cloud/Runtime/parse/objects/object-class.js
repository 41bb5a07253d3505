'use strict';
// The subclasses of Parse.Object by class name, and objects created from JSON. Adds its methods to Parse.Object.
const { ParseObject } = require('./object');
const { ObjectState } = require('./object-state');

const subclasses = new Map();

const statics = {
  /** The object that JSON describes, without unsaved changes. */
  fromJSON(json) {
    if (json instanceof ParseObject) return json.newInstance();
    if (!json || !json.className) throw new Error('Cannot create an object without a className');
    const constructor = subclasses.get(json.className);
    const object = constructor ? new constructor() : new ParseObject(json.className);
    object.className = json.className;
    object._state = new ObjectState();
    object._finishFetch(json);
    object._state.existed = !!json.objectId;
    return object;
  },

  createWithoutData(id) {
    const object = new this();
    object.id = id;
    return object;
  },

  registerSubclass(className, constructor) {
    if (typeof className !== 'string') throw new TypeError('The first argument must be a valid class name.');
    if (typeof constructor !== 'function') throw new TypeError('You must register the subclass constructor.');
    subclasses.set(className, constructor);
    if (!Object.prototype.hasOwnProperty.call(constructor, 'className')) constructor.className = className;
  },

  /** Defines a subclass for a class name; every object of that class is an instance of it from then on. */
  extend(className, instanceMembers, classMembers) {
    if (className && typeof className === 'object' && typeof className.className === 'string') {
      return this.extend(className.className, className, instanceMembers);
    }
    if (typeof className !== 'string') {
      if (!this.className) throw new Error('Parse.Object.extend needs the name of a class.');
      return this.extend(this.className, className, instanceMembers);
    }
    const name = className === 'User' ? '_User' : className;
    const Base = this === ParseObject ? subclasses.get(name) || ParseObject : this;
    const Extended = class extends Base {
      constructor(attributes, options) {
        const first = typeof attributes === 'string' ? undefined : attributes;
        super(...(Base === ParseObject ? [name, first, options] : [first, options]));
        this.className = name;
      }
    };
    Object.defineProperty(Extended, 'name', { value: name });
    define(Extended, classMembers);
    define(Extended.prototype, instanceMembers);
    Extended.className = name;
    subclasses.set(name, Extended);
    return Extended;
  },

  enableSingleInstance() {},
  disableSingleInstance() {},
};

function define(target, members) {
  const { className: _, ...descriptors } = Object.getOwnPropertyDescriptors(members || {});
  for (const [key, descriptor] of Object.entries(descriptors)) {
    Object.defineProperty(target, key, { ...descriptor, enumerable: false, configurable: true });
  }
}

for (const [name, value] of Object.entries(statics)) {
  Object.defineProperty(ParseObject, name, { value, writable: true, configurable: true });
}
