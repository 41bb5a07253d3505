'use strict';
// The constraints of Parse.Query: methods that add to `_where` and return the query.
const { encode } = require('../codec');
const { ParseError } = require('../error');
const { EARTH_KILOMETERS, EARTH_MILES, GeoPoint } = require('../values/geo');

/** A regular expression that matches exactly the text. */
function quote(text) {
  if (typeof text !== 'string') throw new Error('The value being searched for must be a string.');
  return `\\Q${text.replace(/\\E/g, '\\E\\\\E\\Q')}\\E`;
}

function point(value) {
  return value instanceof GeoPoint ? value : new GeoPoint(value);
}

function subquery(query) {
  return { ...query.toJSON(), className: query.className };
}

/** The option names of a full text search, and their protocol names. */
const TEXT_OPTIONS = {
  language: '$language', caseSensitive: '$caseSensitive', diacriticSensitive: '$diacriticSensitive',
};

function constraint(name) {
  return function (key, value) {
    return this._addCondition(key, name, value);
  };
}

const constraints = {
  _addCondition(key, name, value) {
    const present = this._where[key];
    const isCondition = present && typeof present === 'object' && !Array.isArray(present) && !present.__type;
    this._where[key] = isCondition ? present : {};
    this._where[key][name] = encode(value, { pointers: true });
    return this;
  },

  /** Sets one value for a field, or several fields from an object. */
  equalTo(key, value) {
    if (key && typeof key === 'object') {
      for (const [name, wanted] of Object.entries(key)) this.equalTo(name, wanted);
      return this;
    }
    if (value === undefined) return this.doesNotExist(key);
    this._where[key] = encode(value, { pointers: true });
    return this;
  },

  notEqualTo(key, value) {
    if (key && typeof key === 'object') {
      for (const [name, unwanted] of Object.entries(key)) this.notEqualTo(name, unwanted);
      return this;
    }
    return this._addCondition(key, '$ne', value);
  },

  lessThan: constraint('$lt'),
  greaterThan: constraint('$gt'),
  lessThanOrEqualTo: constraint('$lte'),
  greaterThanOrEqualTo: constraint('$gte'),
  containedIn: constraint('$in'),
  notContainedIn: constraint('$nin'),
  containedBy: constraint('$containedBy'),
  containsAll: constraint('$all'),

  containsAllStartingWith(key, values) {
    return this.containsAll(key, [].concat(values).map((value) => ({ $regex: `^${quote(value)}` })));
  },

  exists(key) {
    return this._addCondition(key, '$exists', true);
  },

  doesNotExist(key) {
    return this._addCondition(key, '$exists', false);
  },

  matches(key, regex, modifiers = '') {
    const flags = regex instanceof RegExp
      ? [regex.ignoreCase && 'i', regex.multiline && 'm', regex.dotAll && 's'].filter(Boolean) : [];
    const options = [...new Set([...modifiers, ...flags])].join('');
    this._addCondition(key, '$regex', regex);
    return options ? this._addCondition(key, '$options', options) : this;
  },

  contains(key, text) {
    return this._addCondition(key, '$regex', quote(text));
  },

  startsWith(key, text, modifiers) {
    return this.matches(key, `^${quote(text)}`, modifiers);
  },

  endsWith(key, text, modifiers) {
    return this.matches(key, `${quote(text)}$`, modifiers);
  },

  fullText(key, term, options = {}) {
    if (!key) throw new Error('A key is required.');
    if (!term) throw new Error('A search term is required');
    if (typeof term !== 'string') throw new Error('The value being searched for must be a string.');
    const search = { $term: term };
    for (const [option, value] of Object.entries(options)) {
      if (!TEXT_OPTIONS[option]) throw new Error(`Unknown option: ${option}`);
      search[TEXT_OPTIONS[option]] = value;
    }
    return this._addCondition(key, '$text', { $search: search });
  },

  sortByTextScore() {
    return this.ascending('$score').select('$score');
  },

  matchesQuery(key, query) {
    return this._addCondition(key, '$inQuery', subquery(query));
  },

  doesNotMatchQuery(key, query) {
    return this._addCondition(key, '$notInQuery', subquery(query));
  },

  matchesKeyInQuery(key, queryKey, query) {
    return this._addCondition(key, '$select', { key: queryKey, query: subquery(query) });
  },

  doesNotMatchKeyInQuery(key, queryKey, query) {
    return this._addCondition(key, '$dontSelect', { key: queryKey, query: subquery(query) });
  },

  relatedTo(parent, key) {
    this._where.$relatedTo = { object: parent.toPointer(), key };
    return this;
  },

  near(key, place) {
    return this._addCondition(key, '$nearSphere', point(place));
  },

  withinRadians(key, place, distance, sorted = true) {
    if (sorted) return this.near(key, place)._addCondition(key, '$maxDistance', distance);
    const { longitude, latitude } = point(place);
    return this._addCondition(key, '$geoWithin', { $centerSphere: [[longitude, latitude], distance] });
  },

  withinMiles(key, place, distance, sorted) {
    return this.withinRadians(key, place, distance / EARTH_MILES, sorted);
  },

  withinKilometers(key, place, distance, sorted) {
    return this.withinRadians(key, place, distance / EARTH_KILOMETERS, sorted);
  },

  withinGeoBox(key, southwest, northeast) {
    return this._addCondition(key, '$within', { $box: [point(southwest), point(northeast)] });
  },

  withinPolygon(key, points) {
    return this._addCondition(key, '$geoWithin', { $polygon: points });
  },

  polygonContains(key, place) {
    return this._addCondition(key, '$geoIntersects', { $point: place });
  },

  _compound(operator, queries) {
    this._where[operator] = queries.map((query) => query.toJSON().where);
    return this;
  },

  _orQuery(queries) {
    return this._compound('$or', queries);
  },

  _andQuery(queries) {
    return this._compound('$and', queries);
  },

  _norQuery(queries) {
    return this._compound('$nor', queries);
  },
};

/** The class of several queries. Throws when they have different classes. */
function classOf(queries) {
  if (!queries.length) throw new ParseError(ParseError.INVALID_QUERY, 'A compound query needs queries.');
  if (queries.some((query) => query.className !== queries[0].className)) {
    throw new Error('All queries must be for the same class.');
  }
  return queries[0].className;
}

module.exports = { classOf, constraints };
