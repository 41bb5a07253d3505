// Another page of the shop, without leaving this one.

/**
 * The document behind a path. `DOMParser` would need a policy for trusted types.
 * @throws an error whose message is the status, or `offline`.
 */
export const page = (path) =>
  new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open('GET', path);
    request.responseType = 'document';
    request.onload = () =>
      request.status === 200 && request.response ? resolve(request.response) : reject(new Error(`${request.status}`));
    request.onerror = () => reject(new Error('offline'));
    request.send();
  });
