'use strict';
// Classes that refer to each other, by name: each module registers its own here, and others look them up when needed.
module.exports = {};
