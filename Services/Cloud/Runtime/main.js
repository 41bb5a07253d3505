'use strict';
// The process in which cloud code runs: a child of the cloud service, connected by file descriptor 3.
const net = require('node:net');
const v8 = require('node:v8');
const vm = require('node:vm');
const { FrameReader } = require('./frames');
const host = require('./host');
const { load } = require('./loader');
const { captureConsole, line } = require('./log');
const { ParseError } = require('./parse/error');
const { ParsePromise } = require('./parse/promise');
const { summary } = require('./registry');
const runner = require('./runner');

const HOST_DESCRIPTOR = 3;
/** Maximum time to flush the last frames, in milliseconds. */
const FLUSH_MAX = 1000;
/** Bytes from the host after which garbage is collected when the process is idle. V8 itself waits for half a minute. */
const COLLECTED_BYTES = 1 << 20;
/** Milliseconds without a message after which the process is idle. */
const IDLE = 5000;

async function loadCode(frame) {
  let error = null;
  try {
    await load(frame);
  } catch (thrown) {
    const isError = thrown instanceof Error;
    error = { message: isError ? thrown.message : String(thrown), stack: isError ? String(thrown.stack) : '' };
  }
  host.send({ t: 'loaded', ...summary(), error });
}

function received(frame) {
  switch (frame && frame.t) {
    case 'load': loadCode(frame); break;
    case 'run': runner.start(frame); break;
    case 'cancel': runner.cancel(frame.id); break;
    case 'answer': host.answered(frame); break;
    case 'ping': host.send({ t: 'pong' }); break;
    default: line('error', `The host sent a message of an unknown kind: ${frame && frame.t}`, null);
  }
}

const socket = new net.Socket({ fd: HOST_DESCRIPTOR, readable: true, writable: true });
const reader = new FrameReader(received, (error) => line('error', error.message, null));
host.attach((bytes) => socket.write(bytes));
v8.setFlagsFromString('--expose-gc');
const collect = vm.runInNewContext('gc');
let taken = 0;
const idle = setTimeout(() => {
  if (taken >= COLLECTED_BYTES) collect();
  taken = 0;
}, IDLE);
idle.unref();
socket.on('data', (chunk) => {
  reader.push(chunk);
  taken += chunk.length;
  idle.refresh();
});
// Without the host, the process has no purpose.
socket.on('close', () => process.exit(0));
socket.on('error', () => process.exit(0));
captureConsole();

/**
 * Logs unhandled rejections. If the code itself threw an exception in a promise of the SDK, its run fails as well:
 * otherwise code with callbacks would never answer.
 */
process.on('unhandledRejection', (reason, promise) => {
  const run = ParsePromise.runOf(promise);
  const text = reason instanceof Error ? reason.stack : String(reason);
  line('error', `Unhandled rejection: ${text}`, run);
  if (run && reason instanceof Error && !(reason instanceof ParseError)) run.fail(reason);
});

process.on('uncaughtException', (error) => {
  const stack = error instanceof Error ? error.stack : String(error);
  process.exitCode = 1;
  try {
    line('error', `Uncaught exception; the process ends: ${stack}`);
    runner.failAll(error);
  } finally {
    setTimeout(() => process.exit(1), FLUSH_MAX);
    socket.end(() => process.exit(1));
  }
});
