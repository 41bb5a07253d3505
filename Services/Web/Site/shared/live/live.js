// Live changes by others (docs/guides/livequery.md). The page states whether the server offers them, because the
// console would log a refused handshake as an error; without them nothing happens.

import { auth } from '../api.js';
import { meta, server } from '../settings.js';
import { LiveConnection } from './connection.js';

/** A tab that was hidden so long closes its connection. */
const HIDDEN = 180000;

/** The session of the connection. */
let said = null;
const connection = new LiveConnection(
  () => new WebSocket(address()),
  // Credentials are sent in the message only, because URLs are logged.
  () => {
    said = auth.current;
    return {
      applicationId: server.applicationId,
      ...(server.clientKey ? { javascriptKey: server.clientKey } : {}),
      sessionToken: said?.token,
    };
  },
);
let told = () => {};
connection.onstate = (isLive) => told(isLive);
connection.onsession = async () => {
  if (said && (await auth.recover(said))) connection.resume();
};
// The server ends the queries of a session with it, and need not say why.
auth.onInterruption(async (answered) => {
  connection.pause();
  await answered;
  resume();
});
auth.onEnd(() => connection.end());

function address() {
  const url = new URL(server.mount || '/', location.href);
  url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
  return url.href;
}

/**
 * Listens to the objects of a class until the signal ends.
 * @param query `{ where, keys }`: the condition, and the fields in events besides the object's id and times.
 * @param tell as in `LiveConnection.listen`.
 */
export function listen(className, { where = {}, keys = ['objectId'] }, tell, signal) {
  if (meta('live') !== 'true' || !auth.current) return;
  connection.listen({ className, where, keys }, tell, signal);
}

/** Called before sign-out: otherwise the server would report an expired session. */
export function endListening() {
  connection.end();
}

/**
 * @param listener is called now and on each change with whether live changes are received; it replaces the earlier
 *   listener.
 */
export function onLive(listener) {
  told = listener;
  listener(connection.isLive);
}

if (globalThis.window) {
  let timer = 0;
  document.addEventListener('visibilitychange', () => {
    clearTimeout(timer);
    if (document.hidden) timer = setTimeout(() => connection.pause(), HIDDEN);
    else resume();
  });
  // Browsers do not keep a page with an open connection for the back button.
  addEventListener('pagehide', () => connection.pause());
  addEventListener('pageshow', ({ persisted }) => persisted && resume());
  addEventListener('online', resume);
}

/** Not while the operator has to sign in again: a connection without a session would lose its queries. */
function resume() {
  if (auth.current) connection.resume();
}
