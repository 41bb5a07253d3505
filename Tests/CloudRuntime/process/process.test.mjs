// The process: loading, frames, logs, concurrent runs, cancelling, and how it ends.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeHost } from '../fake-host.mjs';

/** A test that uses one process. */
function process(name, files, work, options) {
  test(name, async () => {
    const host = await FakeHost.start(files, options);
    try {
      await work(host);
    } finally {
      await host.stop();
    }
  });
}

const run = (host, name, more) => host.run({ kind: 'function', name, ...more });

process('the host is told what the code defines', `
  Parse.Cloud.define('a', () => 1); Parse.Cloud.job('j', () => {}); Parse.Cloud.beforeSave('Item', () => {});
  Parse.Cloud.afterSave(Parse.User, () => {}); Parse.Cloud.beforeSaveFile(() => {});
  Parse.Cloud.afterDelete(Parse.File, () => {});
  Parse.Cloud.beforeLogin(() => {}); Parse.Cloud.afterLogout(() => {}); Parse.Cloud.beforeConnect(() => {});
`, async (host) => {
  assert.deepEqual(host.loaded, { t: 'loaded', functions: ['a'], jobs: ['j'], error: null, rateLimits: [], triggers: [
    { trigger: 'beforeSave', className: 'Item' }, { trigger: 'afterSave', className: '_User' },
    { trigger: 'beforeSaveFile', className: '@File' }, { trigger: 'afterDeleteFile', className: '@File' },
    { trigger: 'beforeLogin', className: '_User' }, { trigger: 'afterLogout', className: '_Session' },
    { trigger: 'beforeConnect', className: '@Connect' }] });
});

const broken = {
  'code that throws': ["throw new Error('half\\ndone');", /half/],
  'code with a mistake in it': ['Parse.Cloud.define(', /Unexpected end of input/],
  'no main.js': [{ 'other.js': '' }, /main\.js/],
  'a trigger of a class that has none': ["Parse.Cloud.beforeSave('_Session', () => {});", /_Session/],
  'beforeLogin of another class': ["Parse.Cloud.beforeLogin('Item', () => {});", /_User/],
  'beforeSave of _PushStatus': ["Parse.Cloud.beforeSave('_PushStatus', () => {});", /_PushStatus/],
  'a function without a handler': ["Parse.Cloud.define('f');", /needs a function/],
  'a function without a name': ['Parse.Cloud.define(() => {});', /needs a name/],
  'a name with a quotation mark': ["Parse.Cloud.define(\"a'b\", () => {});", /quotation mark/],
  'a module that hosted Parse had': [
    "require('underscore');", /Cannot find module 'underscore'.*npm install.*Parse\._/,
  ],
  'a package parse that is too old': [
    {
      'main.js': '', 'node_modules/parse/package.json': '{"name":"parse"}',
      'node_modules/parse/node.js': "module.exports = { VERSION: 'js1.5.0' };",
    },
    /older than 1\.6/,
  ],
  'a module that is nowhere': ["require('nowhere');", /Cannot find module 'nowhere'/],
};
for (const [name, [files, message]] of Object.entries(broken)) {
  process(`the host is told of ${name}`, files, async (host) => {
    assert.match(host.loaded.error.message, message);
    assert.ok(host.loaded.error.stack);
  });
}

process("require() finds the SDK, the folder's modules and paths below cloud/", {
  'main.js': `
    const Sdk = require('parse/node'); const other = require('cloud/other.js'); require('cloud/more');
    const _ = require('underscore');
    Parse.Cloud.define('f', () => [
      Sdk === Parse, Sdk.Parse === Parse, require('parse') === Parse, other.name, _.mine, require('./data.json').a,
    ]);`,
  'other.js': "exports.name = 'other';",
  'more/index.js': '',
  'data.json': '{"a":5}',
  'node_modules/underscore/index.js': 'exports.mine = true;',
}, async (host) => {
  assert.deepEqual((await run(host, 'f')).result, [true, true, true, 'other', true, 5]);
});

process('modules of the language', {
  'main.js': "import fs from 'node:fs'; await null; Parse.Cloud.define('f', () => typeof fs.readFileSync);",
  'package.json': '{"type":"module"}',
}, async (host) => assert.equal((await run(host, 'f')).result, 'function'));

process('code is loaded once', "Parse.Cloud.define('f', () => 1);", async (host) => {
  host.send({ t: 'load', folder: host.folder });
  assert.match((await host.frame((frame) => frame.t === 'loaded' && frame.error)).error.message, /already/);
});

process('messages of a job are bounded', `
  Parse.Cloud.job('j', ({ message }) => { message('x'.repeat(100000)); message(7); });
`, async (host) => {
  await host.run({ kind: 'job', name: 'j', jobId: 'a' });
  const said = host.frames.filter(({ t }) => t === 'progress').map(({ message }) => message);
  assert.deepEqual(said, ['x'.repeat(8192), '7']);
});

process('lines of the log have a level and the run that they belong to', `
  console.log('at the start', { a: 1 });
  Parse.Cloud.define('f', async (request) => {
    console.warn('first of', request.params.n);
    await new Promise((resolve) => setTimeout(resolve, 5));
    console.error('second of', request.params.n); request.log.info('third %d', 3); console.debug('x'.repeat(20000));
    Parse.Promise.as().then(() => console.info('fourth'));
  });`, async (host) => {
  await Promise.all([run(host, 'f', { params: { n: 1 } }), run(host, 'f', { params: { n: 2 } })]);
  const lines = host.logs();
  assert.deepEqual(lines[0], { t: 'log', run: null, level: 'log', text: 'at the start { a: 1 }' });
  for (const id of [1, 2]) {
    const own = lines.filter((line) => line.run === id);
    const told = own.slice(0, 3).map(({ level, text }) => [level, text]);
    assert.deepEqual(told, [['warn', `first of ${id}`], ['error', `second of ${id}`], ['info', 'third 3']]);
    assert.match(own[3].text, /^x{16384}… \(3616 characters more\)$/);
  }
});

process('a job tells of its progress', `
  Parse.Cloud.job('j', async (request) => { request.message('one'); request.message(2); });`, async (host) => {
  await host.run({ kind: 'job', name: 'j', jobId: 'x' });
  const progress = host.frames.filter((frame) => frame.t === 'progress');
  assert.deepEqual(progress, ['one', '2'].map((message) => ({ t: 'progress', id: 1, message })));
});

process('a process that waits answers a ping, and one that computes when it is done', `
  Parse.Cloud.define('wait', () => new Promise(() => {}));
  Parse.Cloud.define('compute', () => { const end = Date.now() + 300; while (Date.now() < end); });`, async (host) => {
  run(host, 'wait').catch(() => {});
  host.send({ t: 'ping' });
  await host.frame((frame) => frame.t === 'pong');
  host.frames.length = 0;
  const computed = run(host, 'compute');
  host.send({ t: 'ping' });
  await Promise.all([computed, host.frame((frame) => frame.t === 'pong')]);
});

process('asks name their run, and an answer nobody asked for is passed over', `
  Parse.Cloud.define('f', () => new Parse.Query('A').first());`, async (host) => {
  host.send({ t: 'answer', ask: 999, status: 200, body: {} });
  await Promise.all([run(host, 'f'), run(host, 'f')]);
  assert.deepEqual(host.asks.map((ask) => ask.run).sort(), [1, 2]);
  assert.equal(new Set(host.asks.map((ask) => ask.ask)).size, 2);
}, { answers: { 'GET /classes/A': { results: [] } } });

process('code outside of a run may ask too', `
  new Parse.Query('A').first().then(() => console.log('found'));`, async (host) => {
  await host.frame((frame) => frame.t === 'log' && frame.text === 'found');
  assert.equal(host.asks[0].run, null);
}, { answers: { 'GET /classes/A': { results: [] } } });

process('a cancelled run is not answered and can ask for nothing more', `
  Parse.Cloud.define('f', async () => {
    console.log('started');
    await new Parse.Query('A').first();
    await new Parse.Query('B').first().catch((error) => console.log('refused', error.code));
    return 1;
  });
  Parse.Cloud.define('g', () => 2);`, async (host) => {
  host.send({ t: 'run', id: 77, kind: 'function', name: 'f', request: {} });
  const ask = await host.frame((frame) => frame.t === 'ask');
  host.send({ t: 'cancel', id: 77 });
  host.send({ t: 'cancel', id: 78 });
  host.answer(ask, { results: [] });
  await host.frame((frame) => frame.t === 'log' && frame.text === 'refused 124');
  assert.equal((await run(host, 'g')).result, 2);
  assert.equal(host.asks.length, 1);
  assert.ok(!host.frames.some((frame) => frame.id === 77));
}, { answers: { 'GET /classes/A': null } });

process('an unhandled rejection outside of a run is logged, and the process goes on', `
  Promise.reject(new Error('forgotten')); Parse.Cloud.define('f', () => 1);`, async (host) => {
  await host.frame((frame) => frame.t === 'log' && frame.level === 'error' && frame.text.includes('forgotten'));
  assert.equal((await run(host, 'f')).result, 1);
});

process('an exception that nobody catches fails every run and ends the process', `
  Parse.Cloud.define('waits', () => new Promise(() => {}));
  Parse.Cloud.define('dies', () => {
    setTimeout(() => { throw new Error('fatal here'); }, 1);
    return new Promise(() => {});
  });`, async (host) => {
  const [first, second] = await Promise.all([run(host, 'waits'), run(host, 'dies')]);
  assert.deepEqual([first.error.code, first.error.message, second.error.message], [141, 'fatal here', 'fatal here']);
  assert.match(second.error.stack, /main\.js/);
  const line = host.logs().find(({ level }) => level === 'error');
  assert.match(line.text, /fatal here[^]*main\.js/);
  assert.equal(line.run, 2);
  assert.equal(await host.ended, 1);
});

process('the process ends with its host', `
  Parse.Cloud.define('f', () => setInterval(() => {}, 1000) && 1);`, async (host) => {
  await run(host, 'f');
  host.socket.destroy();
  assert.equal(await host.ended, 0);
});

process('failures have the stack of the code', `
  Parse.Cloud.define('f', () => { throw new Error('where'); });`, async (host) => {
  assert.match((await run(host, 'f')).error.stack, /where[^]*main\.js:2/);
});

process('frames of many bytes, and in pieces', `
  Parse.Cloud.define('f', (request) => request.params.text + 'ü');`, async (host) => {
  const text = 'ö'.repeat(300_000);
  const { encodeFrame } = await import('../../../Services/Cloud/Runtime/frames.js');
  const bytes = encodeFrame({ t: 'run', id: 50, kind: 'function', name: 'f', params: { text } });
  for (const end of [3, 5, 1001, bytes.length]) {
    const start = { 3: 0, 5: 3, 1001: 5, [bytes.length]: 1001 }[end];
    await new Promise((resolve) => host.socket.write(bytes.subarray(start, end), resolve));
  }
  const { result } = await host.frame((frame) => frame.id === 50);
  assert.equal(result, `${text}ü`);
});

process('an answer larger than a frame is refused with a clear error', `
  Parse.Cloud.define('f', () => 'x'.repeat(65 * 1024 * 1024));
  Parse.Cloud.define('g', () => new Parse.Object('A').save({ text: 'x'.repeat(65 * 1024 * 1024) }));`, async (host) => {
  for (const name of ['f', 'g']) {
    const { error } = await run(host, name);
    assert.equal(error.code, 116);
    assert.match(error.message, /larger than the limit of 67108864 bytes/);
  }
});

process('frames that cannot be read are logged and passed over', "Parse.Cloud.define('f', () => 1);", async (host) => {
  const header = Buffer.alloc(4);
  header.writeUInt32BE(64 * 1024 * 1024 + 1);
  host.socket.write(header);
  host.socket.write(Buffer.alloc(64 * 1024 * 1024 + 1, 32));
  const broken = Buffer.from('\0\0\0\x05{nope');
  host.socket.write(broken);
  host.send({ t: 'sing' });
  host.send({ t: 'run', id: 5, kind: 'dance' });
  assert.equal((await host.frame((frame) => frame.id === 5)).error.message, 'There are no runs of the kind dance.');
  assert.equal((await run(host, 'f')).result, 1);
  const texts = host.logs().map((line) => line.text).join('\n');
  assert.match(texts, /larger than the limit[^]*not JSON[^]*unknown kind: sing/);
});
