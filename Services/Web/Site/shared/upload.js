// Uploads of files.

import { APIError } from './api.js';
import { headers, withSession } from './session.js';
import { server } from './settings.js';

/**
 * Uploads a file and returns the File value for an object.
 * @param onProgress is called with the uploaded share, from 0 to 1. XMLHttpRequest is used because fetch does not
 *   report it.
 */
export function upload(file, onProgress = () => {}) {
  return withSession(() => send(file, onProgress));
}

function send(file, onProgress) {
  const name =
    file.name
      .normalize('NFKD')
      .replace(/[^A-Za-z0-9._-]+/g, '-')
      .slice(-80) || 'photo';
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open('POST', `${server.mount}/files/${encodeURIComponent(name)}`);
    for (const [key, value] of Object.entries(headers({ 'Content-Type': file.type || 'application/octet-stream' }))) {
      request.setRequestHeader(key, value);
    }
    request.responseType = 'json';
    request.upload.onprogress = (event) => event.lengthComputable && onProgress(event.loaded / event.total);
    request.onerror = () => reject(new APIError(100, 'The upload was interrupted.'));
    request.onload = () => {
      if (request.status === 201 || request.status === 200) resolve({ __type: 'File', name: request.response.name });
      else reject(new APIError(request.response?.code ?? -1, request.response?.error ?? '', request.status));
    };
    request.send(file);
  });
}
