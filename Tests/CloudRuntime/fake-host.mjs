// A host for the cloud code runtime: starts Services/Cloud/Runtime/main.js and answers its requests from a table.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import fs from 'node:fs/promises';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const RUNTIME = fileURLToPath(new URL('../../Services/Cloud/Runtime/', import.meta.url));
const { FrameReader, encodeFrame } = createRequire(import.meta.url)(path.join(RUNTIME, 'frames.js'));

/** Maximum wait for a frame, in milliseconds. */
const PATIENCE = 60_000;

/** One process with a test's code. */
export class FakeHost {
  /**
   * @param files the folder's files by path; a string is main.js
   * @param answers answer bodies by request, such as "GET /classes/X"; `{ status, body, headers }`
   *   to set a status; an array gives successive answers; a function computes the answer from the request
   */
  static async start(files, { answers = {}, config = {}, loads = true } = {}) {
    const host = new FakeHost(answers);
    host.folder = await fs.mkdtemp(path.join(os.tmpdir(), 'cloud-runtime-'));
    for (const [name, text] of Object.entries(typeof files === 'string' ? { 'main.js': files } : files)) {
      const file = path.join(host.folder, name);
      await fs.mkdir(path.dirname(file), { recursive: true });
      await fs.writeFile(file, text);
    }
    host.spawn();
    if (loads) host.loaded = await host.load(config);
    return host;
  }

  constructor(answers) {
    this.answers = answers;
    this.asks = [];
    this.frames = [];
    this.waiting = [];
    this.unanswered = [];
    this.nextRun = 1;
  }

  spawn() {
    const stdio = ['ignore', 'pipe', 'pipe', 'pipe'];
    this.child = spawn(process.execPath, [path.join(RUNTIME, 'main.js')], { stdio });
    this.output = '';
    for (const stream of [this.child.stdout, this.child.stderr]) stream.on('data', (data) => (this.output += data));
    this.ended = new Promise((resolve) => this.child.on('exit', (code) => resolve(code)));
    this.socket = this.child.stdio[3];
    this.socket.on('error', () => {});
    const reader = new FrameReader((frame) => this.received(frame), (error) => assert.fail(error));
    this.socket.on('data', (chunk) => reader.push(chunk));
  }

  received(frame) {
    this.frames.push(frame);
    if (frame.t === 'ask') this.asked(frame);
    this.waiting = this.waiting.filter(({ test, resolve }) => !test(frame) || (resolve(frame), false));
  }

  asked(ask) {
    this.asks.push(ask);
    let answer = this.answers[`${ask.method} ${ask.path}`];
    if (Array.isArray(answer)) answer = answer.shift();
    if (typeof answer === 'function') answer = answer(ask, this);
    if (answer === null) return;
    if (answer === undefined) {
      this.unanswered.push(`${ask.method} ${ask.path} ${JSON.stringify(ask.query || ask.body)}`);
      answer = { status: 500, body: { code: 1, error: `The test has no answer to ${ask.method} ${ask.path}.` } };
    }
    this.answer(ask, answer);
  }

  answer(ask, answer) {
    const { status = 200, body = answer, headers = {} } = answer.status ? answer : {};
    this.send({ t: 'answer', ask: ask.ask, status, body, headers });
  }

  send(frame) {
    this.socket.write(encodeFrame(frame));
  }

  /** The first matching frame among received and future frames. */
  frame(test) {
    const known = this.frames.find(test);
    if (known) return Promise.resolve(known);
    return new Promise((resolve, reject) => {
      const fail = () => reject(new Error(`Waited in vain; frames: ${JSON.stringify(this.frames)} ${this.output}`));
      const timer = setTimeout(fail, PATIENCE);
      this.waiting.push({ test, resolve: (frame) => (clearTimeout(timer), resolve(frame)) });
    });
  }

  load(config) {
    this.send({
      t: 'load', folder: this.folder, applicationId: 'satchel', serverURL: 'http://127.0.0.1:1337/parse', config,
    });
    return this.frame((frame) => frame.t === 'loaded');
  }

  /** Sends a run and returns the frame that ends it. */
  run(frame) {
    const id = this.nextRun++;
    this.send({ t: 'run', id, request: {}, ...frame });
    return this.frame((other) => (other.t === 'done' || other.t === 'failed') && other.id === id);
  }

  logs() {
    return this.frames.filter((frame) => frame.t === 'log');
  }

  async stop() {
    this.socket.destroy();
    await this.ended;
    await fs.rm(this.folder, { recursive: true, force: true });
  }
}
