'use strict';

/** A header of an answer; its name is case-insensitive. */
function headerOf(headers, name) {
  const found = Object.entries(headers || {}).find(([key]) => key.toLowerCase() === name);
  return found ? found[1] : undefined;
}

module.exports = { headerOf };
