'use strict';
// Parse._: the Underscore functions that old cloud code used most.

const isObject = (value) => value !== null && (typeof value === 'object' || typeof value === 'function');
const isList = (value) => value !== null && value !== undefined && typeof value !== 'function'
  && typeof value.length === 'number' && value.length >= 0;
const valuesOf = (list) => (isList(list) ? Array.from(list) : Object.values(list || {}));
const tag = (name) => (value) => Object.prototype.toString.call(value) === `[object ${name}]`;

/** Converts a function, a field's name or members to match to a function. */
function by(iteratee, context) {
  if (iteratee === undefined || iteratee === null) return (value) => value;
  if (typeof iteratee === 'function') return context === undefined ? iteratee : iteratee.bind(context);
  if (typeof iteratee === 'object') return (value) => matches(value, iteratee);
  return (value) => (value === null || value === undefined ? undefined : value[iteratee]);
}

function matches(value, members) {
  return isObject(value) && Object.keys(members).every((key) => value[key] === members[key]);
}

/** Calls back with value, key and list, for arrays and objects; collects the results. */
function collected(list, callback) {
  if (list === null || list === undefined) return [];
  if (isList(list)) return Array.from(list, (value, index) => callback(value, index, list));
  return Object.keys(list).map((key) => callback(list[key], key, list));
}

function grouped(put) {
  return (list, iteratee, context) => {
    const groups = {};
    const keyOf = by(iteratee, context);
    collected(list, (value, key) => put(groups, keyOf(value, key, list), value));
    return groups;
  };
}

function picked(object, keys, wanted) {
  const names = new Set(keys.flat());
  const test = typeof keys[0] === 'function' ? keys[0] : (_, key) => names.has(key);
  return Object.fromEntries(Object.entries(object || {}).filter(([key, value]) => !!test(value, key) === wanted));
}

function extremum(list, iteratee, better, none) {
  const measure = by(iteratee);
  const best = (one, value) => (one.none || better(measure(value), measure(one.value)) ? { value } : one);
  return valuesOf(list).reduce(best, { none: true, value: none }).value;
}

const ESCAPES = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#x27;', '/': '&#x2F;' };
let counter = 0;

const _ = {
  each(list, callback, context) {
    collected(list, by(callback, context));
    return list;
  },
  map: (list, iteratee, context) => collected(list, by(iteratee, context)),
  reduce(list, callback, ...initial) {
    return valuesOf(list).reduce((memo, value, index) => callback(memo, value, index, list), ...initial.slice(0, 1));
  },
  reduceRight(list, callback, ...initial) {
    return valuesOf(list).reduceRight((memo, value, index) => callback(memo, value, index), ...initial.slice(0, 1));
  },
  find: (list, test, context) => valuesOf(list).find(by(test, context)),
  findIndex: (list, test, context) => valuesOf(list).findIndex(by(test, context)),
  filter: (list, test, context) => valuesOf(list).filter(by(test, context)),
  reject(list, test, context) {
    const holds = by(test, context);
    return valuesOf(list).filter((...values) => !holds(...values));
  },
  every: (list, test, context) => valuesOf(list).every(by(test, context)),
  some: (list, test, context) => valuesOf(list).some(by(test, context)),
  contains: (list, value) => valuesOf(list).includes(value),
  invoke: (list, method, ...values) => _.map(list, (value) => (
    typeof method === 'function' ? method : value[method]
  ).apply(value, values)),
  pluck: (list, key) => _.map(list, key),
  where: (list, members) => _.filter(list, members),
  findWhere: (list, members) => _.find(list, members),
  max: (list, iteratee) => extremum(list, iteratee, (one, best) => one > best, -Infinity),
  min: (list, iteratee) => extremum(list, iteratee, (one, best) => one < best, Infinity),
  sortBy(list, iteratee, context) {
    const measure = by(iteratee, context);
    const measured = valuesOf(list).map((value) => ({ value, measure: measure(value) }));
    return measured.sort((one, other) => (one.measure > other.measure) - (one.measure < other.measure))
      .map(({ value }) => value);
  },
  groupBy: grouped((groups, key, value) => (groups[key] = groups[key] || []).push(value)),
  indexBy: grouped((groups, key, value) => { groups[key] = value; }),
  countBy: grouped((groups, key) => { groups[key] = (groups[key] || 0) + 1; }),
  partition: (list, test) => [_.filter(list, test), _.reject(list, test)],
  shuffle: (list) => _.sortBy(list, () => Math.random()),
  sample: (list) => _.shuffle(list)[0],
  toArray: valuesOf,
  size: (list) => valuesOf(list).length,

  first: (list, count) => (count === undefined ? valuesOf(list)[0] : valuesOf(list).slice(0, count)),
  initial: (list, count = 1) => valuesOf(list).slice(0, -count),
  last: (list, count) => (count === undefined ? valuesOf(list).pop() : count ? valuesOf(list).slice(-count) : []),
  rest: (list, from = 1) => valuesOf(list).slice(from),
  compact: (list) => valuesOf(list).filter(Boolean),
  flatten: (list, shallow) => valuesOf(list).flat(shallow ? 1 : Infinity),
  without: (list, ...values) => _.difference(list, values),
  difference(list, ...others) {
    const gone = new Set(others.flat());
    return valuesOf(list).filter((value) => !gone.has(value));
  },
  union: (...lists) => _.uniq(lists.flat()),
  intersection(list, ...others) {
    const sets = others.map((other) => new Set(other));
    return _.uniq(list).filter((value) => sets.every((set) => set.has(value)));
  },
  uniq(list, sorted, iteratee) {
    const keyOf = by(typeof sorted === 'boolean' ? iteratee : sorted);
    const seen = new Set();
    return valuesOf(list).filter((value) => !seen.has(keyOf(value)) && seen.add(keyOf(value)));
  },
  zip(...lists) {
    return Array.from({ length: Math.max(0, ...lists.map(_.size)) }, (__, at) => lists.map((list) => list[at]));
  },
  object: (list, values) => Object.fromEntries(values ? list.map((key, at) => [key, values[at]]) : list),
  indexOf: (list, value) => valuesOf(list).indexOf(value),
  lastIndexOf: (list, value) => valuesOf(list).lastIndexOf(value),
  range(start, stop, step = 1) {
    const [from, to] = stop === undefined ? [0, start] : [start, stop];
    return Array.from({ length: Math.max(0, Math.ceil((to - from) / step)) }, (__, at) => from + at * step);
  },

  keys: (object) => (isObject(object) ? Object.keys(object) : []),
  values: (object) => Object.values(object || {}),
  pairs: (object) => Object.entries(object || {}),
  invert: (object) => Object.fromEntries(Object.entries(object).map(([key, value]) => [value, key])),
  functions: (object) => Object.keys(object).filter((key) => typeof object[key] === 'function').sort(),
  extend: (object, ...others) => Object.assign(object, ...others),
  defaults(object, ...others) {
    for (const other of others) {
      for (const key of _.keys(other)) if (object[key] === undefined) object[key] = other[key];
    }
    return object;
  },
  pick: (object, ...keys) => picked(object, keys, true),
  omit: (object, ...keys) => picked(object, keys, false),
  clone: (value) => (Array.isArray(value) ? [...value] : isObject(value) ? { ...value } : value),
  has: (object, key) => object !== null && object !== undefined && Object.prototype.hasOwnProperty.call(object, key),
  property: (key) => by(key),
  matches: (members) => (value) => matches(value, members),
  result(object, key, other) {
    const value = object === null || object === undefined ? undefined : object[key];
    return value === undefined ? other : typeof value === 'function' ? value.call(object) : value;
  },
  isEqual: (one, other) => require('node:util').isDeepStrictEqual(one, other),
  isEmpty: (value) => (isList(value) ? value.length === 0 : !isObject(value) || Object.keys(value).length === 0),
  isArray: Array.isArray,
  isObject,
  isString: tag('String'), isNumber: tag('Number'), isDate: tag('Date'), isRegExp: tag('RegExp'),
  isBoolean: tag('Boolean'), isArguments: tag('Arguments'),
  isFunction: (value) => typeof value === 'function',
  isFinite: (value) => Number.isFinite(typeof value === 'string' && value.trim() ? Number(value) : value),
  isNaN: (value) => typeof value === 'number' && Number.isNaN(value),
  isNull: (value) => value === null,
  isUndefined: (value) => value === undefined,

  identity: (value) => value,
  constant: (value) => () => value,
  noop() {},
  times: (count, callback) => Array.from({ length: count }, (__, at) => callback(at)),
  random: (from, to) => (to === undefined ? [0, from] : [from, to])
    .reduce((low, high) => low + Math.floor(Math.random() * (high - low + 1))),
  uniqueId: (prefix = '') => `${prefix}${++counter}`,
  escape: (text) => String(text).replace(/[&<>"'/]/g, (character) => ESCAPES[character]),
  now: () => Date.now(),
  bind: (work, context, ...values) => work.bind(context, ...values),
  partial: (work, ...values) => (...others) => work(...values, ...others),
  bindAll(object, ...names) {
    for (const name of names.flat()) object[name] = object[name].bind(object);
    return object;
  },
  once(work) {
    let result;
    let done = false;
    return function (...values) {
      if (!done) [done, result] = [true, work.apply(this, values)];
      return result;
    };
  },
  after: (count, work) => (...values) => (--count < 1 ? work(...values) : undefined),
  memoize(work, keyOf = (value) => value) {
    const known = new Map();
    return (...values) => {
      const key = keyOf(...values);
      if (!known.has(key)) known.set(key, work(...values));
      return known.get(key);
    };
  },
  delay: (work, wait, ...values) => setTimeout(work, wait, ...values),
  defer: (work, ...values) => setTimeout(work, 1, ...values),
  wrap: (work, wrapper) => (...values) => wrapper(work, ...values),
  compose: (...works) => (value) => works.reduceRight((result, work) => work(result), value),
};

/** Underscore's alternative names of the same functions. */
const ALIASES = {
  forEach: 'each', collect: 'map', inject: 'reduce', foldl: 'reduce', foldr: 'reduceRight', detect: 'find',
  select: 'filter', all: 'every', any: 'some', include: 'contains', includes: 'contains', head: 'first', take: 'first',
  tail: 'rest', drop: 'rest', unique: 'uniq', methods: 'functions', extendOwn: 'extend', assign: 'extend',
};
for (const [alias, name] of Object.entries(ALIASES)) _[alias] = _[name];

/** `_.chain(list)`, with every function as a method; value() ends it. */
_.chain = (value) => {
  const chained = { value: () => value };
  for (const name of Object.keys(_)) {
    if (name !== 'chain' && name !== 'value') chained[name] = (...values) => _.chain(_[name](value, ...values));
  }
  return chained;
};

module.exports = _;
