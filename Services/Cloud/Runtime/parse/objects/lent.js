'use strict';
// Values that code may read with get() while one trigger runs, such as a new password. They are not part of an object's
// state, and appear in no JSON, copy or log of it.

const lent = new WeakMap();

function lend(object, key, value) {
  lent.set(object, new Map([...lent.get(object) || [], [key, value]]));
}

function reclaim(object) {
  lent.delete(object);
}

const lentValue = (object, key) => (lent.has(object) ? lent.get(object).get(key) : undefined);
const lentKeys = (object) => (lent.has(object) ? [...lent.get(object).keys()] : []);

module.exports = { lend, lentKeys, lentValue, reclaim };
