'use strict';
// The Node side of the socket of `cloud` (Services/Cloud/Runtime/README.md) and nothing more: functions with fixed behaviour, for tests of the
// pool that has no need of Parse.
const { spawn } = require('node:child_process');
const fs = require('node:fs');
const net = require('node:net');

const socket = new net.Socket({ fd: 3 });
const asks = new Map();
let bytes = Buffer.alloc(0);

function send(message) {
  const text = Buffer.from(JSON.stringify(message));
  const length = Buffer.alloc(4);
  length.writeUInt32BE(text.length);
  socket.write(Buffer.concat([length, text]));
}

const functions = {
  hello: (run, done) => done('hello'),
  pid: (run, done) => done(process.pid),
  place: (run, done) => done(process.cwd()),
  variables: (run, done) => done(Object.keys(process.env).filter((name) => /^(SATCHEL|SUPERVISOR)_/.test(name))),
  descriptors: (run, done) => done([0, 1, 2, 3].map((number) => fs.readlinkSync(`/proc/self/fd/${number}`).split(':')[0])),
  fail: (run) => send({ t: 'failed', id: run.id, error: { code: 4242, message: 'Not today.', stack: 'here\nand there' } }),
  deep: (run) => socket.write(frame(`{"t":"done","id":${run.id},"result":${'['.repeat(2000)}${']'.repeat(2000)}}`)),
  noise: () => socket.write(Buffer.from([255, 255, 255, 255])),
  spin: () => { for (;;); },
  chatter: (run) => {
    for (;;) {
      for (const start = Date.now(); Date.now() - start < 20;);
      send({ t: 'log', run: run.id, level: 'info', text: 'still here' });
    }
  },
  never: () => {},
  slow: (run, done) => setTimeout(() => done('slow'), 1500),
  end: () => process.exit(7),
  chatter: (run, done) => {
    for (let number = 0; number < 3000; number += 1) send({ t: 'log', run: run.id, level: 'info', text: `line ${number}` });
    done('said');
  },
  outputs: (run, done) => {
    fs.writeSync(1, 'x\n'.repeat(3000));
    done('written');
  },
  child: (run, done) => done(spawn('/bin/sleep', ['600'], { stdio: 'ignore' }).pid),
  ask: (run, done) => {
    asks.set(run.id, (answer) => done(answer.body));
    send({ t: 'ask', ask: run.id, run: run.id, method: 'GET', path: '/classes/Note', auth: { master: false } });
  },
};

function frame(text) {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(Buffer.byteLength(text));
  return Buffer.concat([length, Buffer.from(text)]);
}

function take(message) {
  if (message.t === 'load') {
    const error = fs.existsSync(`${message.folder}/broken`) ? { message: 'It is broken.', stack: '' } : null;
    const triggers = [{ trigger: 'beforeSave', className: 'Note' }];
    send({ t: 'loaded', functions: Object.keys(functions), jobs: [], triggers, error });
  } else if (message.t === 'answer') {
    asks.get(message.ask)(message);
  } else if (message.t === 'ping') {
    send({ t: 'pong' });
  } else if (message.t === 'run') {
    functions[message.name](message, (result) => send({ t: 'done', id: message.id, result }));
  }
}

socket.on('end', () => process.exit(0));
socket.on('data', (chunk) => {
  bytes = Buffer.concat([bytes, chunk]);
  while (bytes.length >= 4 && bytes.length >= 4 + bytes.readUInt32BE(0)) {
    const end = 4 + bytes.readUInt32BE(0);
    const message = JSON.parse(bytes.subarray(4, end));
    bytes = bytes.subarray(end);
    take(message);
  }
});
