'use strict';
const types = require('../types');

const EARTH_KILOMETERS = 6371.0;
const EARTH_MILES = 3958.8;

/** A place: latitude from -90 to 90, longitude from -180 to 180, in degrees. */
class GeoPoint {
  /** @param first a latitude, an array of both, or an object with both */
  constructor(first, second) {
    const [latitude, longitude] = coordinatesOf(first, second);
    GeoPoint._validate(latitude, longitude);
    this._latitude = latitude;
    this._longitude = longitude;
  }

  get latitude() {
    return this._latitude;
  }

  set latitude(value) {
    GeoPoint._validate(value, this._longitude);
    this._latitude = value;
  }

  get longitude() {
    return this._longitude;
  }

  set longitude(value) {
    GeoPoint._validate(this._latitude, value);
    this._longitude = value;
  }

  toJSON() {
    return { __type: 'GeoPoint', latitude: this._latitude, longitude: this._longitude };
  }

  equals(other) {
    return other instanceof GeoPoint && other.latitude === this.latitude && other.longitude === this.longitude;
  }

  /** The distance by the haversine formula. */
  radiansTo(point) {
    const radians = (degrees) => (degrees * Math.PI) / 180;
    const byLatitude = Math.sin(radians(this.latitude - point.latitude) / 2) ** 2;
    const byLongitude = Math.sin(radians(this.longitude - point.longitude) / 2) ** 2;
    const both = Math.cos(radians(this.latitude)) * Math.cos(radians(point.latitude)) * byLongitude;
    return 2 * Math.asin(Math.sqrt(Math.min(1, byLatitude + both)));
  }

  kilometersTo(point) {
    return this.radiansTo(point) * EARTH_KILOMETERS;
  }

  milesTo(point) {
    return this.radiansTo(point) * EARTH_MILES;
  }

  static _validate(latitude, longitude) {
    for (const value of [latitude, longitude]) {
      if (typeof value !== 'number' || Number.isNaN(value)) {
        throw new TypeError('A GeoPoint needs a latitude and a longitude that are numbers.');
      }
    }
    if (Math.abs(latitude) > 90) throw new TypeError(`A latitude must be from -90 to 90, not ${latitude}.`);
    if (Math.abs(longitude) > 180) throw new TypeError(`A longitude must be from -180 to 180, not ${longitude}.`);
  }
}

function coordinatesOf(first, second) {
  if (Array.isArray(first)) return first;
  if (first && typeof first === 'object') return [first.latitude, first.longitude];
  return first === undefined && second === undefined ? [0, 0] : [first, second];
}

/** An area: at least three points, as pairs of latitude and longitude or as GeoPoints. */
class Polygon {
  constructor(coordinates) {
    this._coordinates = Polygon._validate(coordinates);
  }

  get coordinates() {
    return this._coordinates;
  }

  set coordinates(value) {
    this._coordinates = Polygon._validate(value);
  }

  toJSON() {
    return { __type: 'Polygon', coordinates: this._coordinates };
  }

  equals(other) {
    return other instanceof Polygon && JSON.stringify(other._coordinates) === JSON.stringify(this._coordinates);
  }

  /** Whether a point lies inside, by counting the sides that a ray from it crosses. */
  containsPoint(point) {
    let inside = false;
    const corners = this._coordinates;
    corners.forEach(([latitude, longitude], index) => {
      const [before, beside] = corners[(index + corners.length - 1) % corners.length];
      if (longitude > point.longitude === beside > point.longitude) return;
      const crossing = ((before - latitude) * (point.longitude - longitude)) / (beside - longitude) + latitude;
      if (point.latitude < crossing) inside = !inside;
    });
    return inside;
  }

  static _validate(coordinates) {
    if (!Array.isArray(coordinates)) throw new TypeError('The coordinates of a Polygon must be an array.');
    if (coordinates.length < 3) throw new TypeError('A Polygon has at least 3 points.');
    return coordinates.map((corner) => {
      const point = corner instanceof GeoPoint ? corner : new GeoPoint(corner);
      return [point.latitude, point.longitude];
    });
  }
}

Object.assign(types, { GeoPoint, Polygon });
module.exports = { EARTH_KILOMETERS, EARTH_MILES, GeoPoint, Polygon };
