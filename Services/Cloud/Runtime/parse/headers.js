'use strict';

/** A header of an answer, whatever the case of its name. */
function headerOf(headers, name) {
  const found = Object.entries(headers || {}).find(([key]) => key.toLowerCase() === name);
  return found ? found[1] : undefined;
}

module.exports = { headerOf };
