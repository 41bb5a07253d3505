// One connection for all live queries of a tab: Parse's LiveQuery protocol over a WebSocket. It opens with the first
// listener, closes some time after the last one, and reconnects automatically. Socket, clock and random numbers are
// injected, so that tests need no browser.

/** The time that the connection stays open for the next view. */
const LINGERS = 20000;
const PAUSE = 1000;
const LONGEST = 60000;
/** A connection that lasted so long resets the backoff. */
const HELD = 30000;
/** After so many failures before any success, such as behind a proxy without WebSocket support, it gives up. */
const TRIES = 3;
const OPEN = 1;
/** RFC 6455, section 7.4.1: the server's policy refuses the connection. */
const REFUSED = 1008;
const kinds = ['create', 'enter', 'update', 'leave', 'delete'];
/** Errors that end a running subscription; it survives all others. */
const ends = [102, 119, 154, 155];
const NO_SESSION = 209;
const ownClock = {
  setTimeout: (run, after) => setTimeout(run, after),
  clearTimeout: (timer) => clearTimeout(timer),
  now: () => performance.now(),
};

export class LiveConnection {
  #open;
  #hello;
  #clock;
  #random;
  #socket = null;
  /** The time at which the server accepted the connection; null before. */
  #since = null;
  #listeners = new Map();
  #last = 0;
  #failures = 0;
  #hasWorked = false;
  #isOver = false;
  #isPaused = false;
  #timer = null;
  #lingering = null;
  isLive = false;
  /** Called with whether live changes are received. */
  onstate = () => {};
  /** Called when the session has ended; `resume` continues with the next one. */
  onsession = () => {};

  /**
   * @param open creates a socket, as `new WebSocket` does.
   * @param hello returns the members of the `connect` message.
   */
  constructor(open, hello, { clock = ownClock, random = Math.random } = {}) {
    this.#open = open;
    this.#hello = hello;
    this.#clock = clock;
    this.#random = random;
  }

  /**
   * Listens to a query, `{ className, where, keys }`, until the signal ends. A refused query never gets an event.
   * @param tell is called with `{ kind, object }` for each change. `kind` is `unsure` when changes may have been
   *   missed: at the beginning, and after a gap that the server cannot fill.
   */
  listen(query, tell, signal) {
    if (this.#isOver || signal.aborted) return;
    this.#last += 1;
    const listener = { id: this.#last, query, tell, cursor: undefined, isThere: false };
    this.#listeners.set(listener.id, listener);
    signal.addEventListener('abort', () => this.#forget(listener), { once: true });
    if (this.#since !== null) this.#subscribe(listener);
    else this.#connect();
    this.#clock.clearTimeout(this.#lingering);
    this.#lingering = null;
  }

  /** Closes the connection while the page is hidden; `resume` continues from the last cursor. */
  pause() {
    this.#isPaused = true;
    this.#leave();
  }

  resume() {
    this.#isPaused = false;
    this.#failures = 0;
    this.#connect();
  }

  /** Removes all listeners at sign-out. */
  end() {
    this.#listeners.clear();
    this.#leave();
    this.#failures = 0;
    this.#isOver = false;
    this.#isPaused = false;
  }

  #forget(listener) {
    if (!this.#listeners.delete(listener.id)) return;
    if (this.#since !== null) this.#send({ op: 'unsubscribe', requestId: listener.id });
    this.#settle();
    if (!this.#listeners.size) this.#lingering ??= this.#clock.setTimeout(() => this.#leave(), LINGERS);
  }

  #connect() {
    if (this.#socket || this.#isOver || this.#isPaused || !this.#listeners.size) return;
    this.#clock.clearTimeout(this.#timer);
    this.#timer = null;
    const socket = this.#open();
    this.#socket = socket;
    const isMine = () => this.#socket === socket;
    socket.onopen = () => {
      // An unwanted socket is closed only after it has opened: closing it earlier would log an error.
      if (isMine()) this.#send({ op: 'connect', ...this.#hello() });
      else socket.close();
    };
    socket.onmessage = ({ data }) => isMine() && this.#heard(JSON.parse(data));
    socket.onclose = ({ code }) => isMine() && this.#closed(code);
  }

  #leave() {
    this.#clock.clearTimeout(this.#timer);
    this.#clock.clearTimeout(this.#lingering);
    this.#timer = null;
    this.#lingering = null;
    const socket = this.#socket;
    this.#lose();
    if (socket?.readyState === OPEN) socket.close();
  }

  #lose() {
    this.#socket = null;
    this.#since = null;
    for (const listener of this.#listeners.values()) listener.isThere = false;
    this.#settle();
  }

  #closed(code) {
    const isGood = this.#since !== null && this.#clock.now() - this.#since >= HELD;
    this.#failures = isGood ? 1 : this.#failures + 1;
    this.#lose();
    if (code === REFUSED || (!this.#hasWorked && this.#failures >= TRIES)) this.#isOver = true;
    if (this.#isOver || this.#isPaused || !this.#listeners.size) return;
    const pause = Math.min(LONGEST, PAUSE * 2 ** (this.#failures - 1)) * (0.5 + this.#random());
    this.#timer = this.#clock.setTimeout(() => {
      this.#timer = null;
      this.#connect();
    }, pause);
  }

  #heard(message) {
    const listener = this.#listeners.get(message.requestId);
    if (message.op === 'connected') {
      this.#since = this.#clock.now();
      this.#hasWorked = true;
      for (const one of this.#listeners.values()) this.#subscribe(one);
    } else if (message.op === 'error') this.#refused(message, listener);
    else if (!listener) return;
    // The client asked for no end: the session was logged out elsewhere.
    else if (message.op === 'unsubscribed') this.#refused({ code: NO_SESSION });
    else if (message.op === 'subscribed') {
      const isSure = listener.cursor !== undefined && !message.missed;
      listener.isThere = true;
      listener.cursor = message.cursor;
      this.#settle();
      if (!isSure) listener.tell({ kind: 'unsure', object: null });
    } else if (kinds.includes(message.op)) {
      listener.cursor = message.cursor;
      listener.tell({ kind: message.op, object: message.object });
    }
  }

  #refused({ code, reconnect, requestId }, listener) {
    if (code === NO_SESSION) {
      this.pause();
      return this.onsession();
    }
    // The server closes the connection, and the client reconnects.
    if (reconnect) return;
    if (requestId === null || requestId === undefined) this.#isOver = true;
    if (listener && (!listener.isThere || ends.includes(code))) {
      this.#listeners.delete(listener.id);
      this.#settle();
    }
  }

  #subscribe({ id, query, cursor }) {
    this.#send({ op: 'subscribe', requestId: id, query, ...(cursor ? { cursor } : {}) });
  }

  #send(message) {
    if (this.#socket?.readyState === OPEN) this.#socket.send(JSON.stringify(message));
  }

  #settle() {
    const isLive = [...this.#listeners.values()].some((listener) => listener.isThere);
    if (isLive === this.isLive) return;
    this.isLive = isLive;
    this.onstate(isLive);
  }
}
