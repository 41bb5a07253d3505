'use strict';
// The classes that refer to each other, by name: each module puts its own here, and others look when they need it.
module.exports = {};
