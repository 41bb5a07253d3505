// Changes by others, as the server tells them (docs/livequery.md). Where it tells none, nothing happens: the page says
// beforehand whether there are any, since a handshake that is refused would be an error in the console.

import { auth } from '../api.js';
import { meta, server } from '../settings.js';
import { LiveConnection } from './connection.js';

/** A tab that nobody looks at for so long gives its connection back. */
const HIDDEN = 180000;

const connection = new LiveConnection(
  () => new WebSocket(address()),
  // Here and nowhere else: what is in an address is in logs.
  () => ({
    applicationId: server.applicationId,
    ...(server.clientKey ? { javascriptKey: server.clientKey } : {}),
    sessionToken: auth.current?.token,
  }),
);
let told = () => {};
connection.onstate = (isLive) => told(isLive);
connection.onsession = () => auth.current && auth.end(true);
auth.onEnd(() => connection.end());

function address() {
  const url = new URL(server.mount || '/', location.href);
  url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
  return url.href;
}

/**
 * Listens to the objects of a class until the signal ends.
 * @param query `{ where, keys }`: the condition, and the fields that the events are to have beside the object's id and
 *   times.
 * @param tell as of `LiveConnection.listen`.
 */
export function listen(className, { where = {}, keys = ['objectId'] }, tell, signal) {
  if (meta('live') !== 'true' || !auth.current) return;
  connection.listen({ className, where, keys }, tell, signal);
}

/** Before a session is ended on purpose: the server would say of it that it has expired. */
export function endListening() {
  connection.end();
}

/** @param listener is told now and later whether changes by others are heard of; the last one who asked is. */
export function onLive(listener) {
  told = listener;
  listener(connection.isLive);
}

if (globalThis.window) {
  let timer = 0;
  document.addEventListener('visibilitychange', () => {
    clearTimeout(timer);
    if (document.hidden) timer = setTimeout(() => connection.pause(), HIDDEN);
    else connection.resume();
  });
  // A page with a connection is not kept for the way back.
  addEventListener('pagehide', () => connection.pause());
  addEventListener('pageshow', ({ persisted }) => persisted && connection.resume());
  addEventListener('online', () => connection.resume());
}
