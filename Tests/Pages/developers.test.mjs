// The page for app developers: snippets for each SDK, requests as they are sent, and the OpenAPI document as the pages
// use it.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { loadDevelopers } from './pages.mjs';

const { snippets } = await loadDevelopers('snippets.js');
const { build, canTry, curl, sample, shown, signIn } = await loadDevelopers('requests.js');
const { Reference } = await loadDevelopers('document.js');
const { pathOf } = await loadDevelopers('links.js');

const app = { url: 'https://shop.example/parse', applicationId: 'satchel', keyKinds: [], clientKey: '' };
const named = (all) => Object.fromEntries(all.map((snippet) => [snippet.id, snippet]));

/** The arguments into which a shell splits a command. */
const words = (command) =>
  execFileSync('bash', ['-c', `curl() { printf '%s\\0' "$@"; }; ${command}`], { encoding: 'utf8' })
    .split('\0')
    .slice(0, -1);

test('each SDK gets the server and the app, and no key where none is wanted', () => {
  const all = snippets(app);
  assert.deepEqual(
    all.map(({ id }) => id),
    ['swift', 'ios', 'android', 'javascript', 'php', 'python', 'curl'],
  );
  for (const { id, code, lacks } of all) {
    assert.match(code, /shop\.example/, id);
    assert.match(code, /satchel/, id);
    assert.doesNotMatch(code, /YOUR_|[Mm]aster-?[Kk]ey:/, id);
    assert.equal(lacks, null, id);
  }
  // The Android SDK appends paths to the URL unchanged.
  assert.match(named(all).android.code, /\.server\("https:\/\/shop\.example\/parse\/"\)/);
  assert.match(named(all).php.code, /setServerURL\('https:\/\/shop\.example', '\/parse'\)/);
});

test('a key has its place: that of the SDK, and of pages with its value', () => {
  const all = named(snippets({ ...app, keyKinds: ['rest', 'javascript', 'client'], clientKey: 'for-pages' }));
  assert.match(all.swift.code, /clientKey: "YOUR_CLIENT_KEY"/);
  assert.match(all.ios.code, /\$0\.clientKey = "YOUR_CLIENT_KEY"/);
  assert.match(all.android.code, /\.clientKey\("YOUR_CLIENT_KEY"\)/);
  assert.match(all.javascript.code, /Parse\.initialize\("satchel", "for-pages"\)/);
  assert.match(all.php.code, /initialize\('satchel', 'YOUR_REST_KEY', null\)/);
  assert.match(all.python.code, /"X-Parse-REST-API-Key": "YOUR_REST_KEY"/);
  assert.match(all.curl.code, /'X-Parse-REST-API-Key: YOUR_REST_KEY'/);
});

test('an SDK whose kind of key the server has not is told so; what sends any header sends another', () => {
  const all = named(snippets({ ...app, keyKinds: ['javascript'], clientKey: 'for-pages' }));
  assert.equal(all.swift.lacks, 'client');
  assert.equal(all.php.lacks, 'rest');
  assert.equal(all.javascript.lacks, null);
  assert.equal(all.curl.lacks, null);
  assert.match(all.curl.code, /'X-Parse-Javascript-Key: for-pages'/);
});

test('no name breaks out of its quotes', () => {
  const all = named(snippets({ ...app, applicationId: `a'b"c$d\\e` }));
  assert.equal(words(all.curl.code)[3], `X-Parse-Application-Id: a'b"c$d\\e`);
  assert.match(all.javascript.code, /Parse\.initialize\("a'b\\"c\$d\\\\e"\)/);
  assert.match(all.android.code, /applicationId\("a'b\\"c\\\$d\\\\e"\)/);
  assert.match(all.php.code, /initialize\('a\\'b"c\$d\\\\e', null, null\)/);
});

const document = {
  servers: [{ url: 'https://shop.example/parse' }],
  tags: [{ name: 'Objects' }, { name: 'Cloud code' }, { name: 'Empty' }],
  paths: {
    '/classes/{className}': {
      get: {
        operationId: 'findObjects',
        tags: ['Objects'],
        security: [{ applicationId: [] }, { applicationId: [], masterKey: [] }],
        parameters: [
          { $ref: '#/components/parameters/className' },
          { name: 'where', in: 'query', content: { 'application/json': { schema: { type: 'object' } } } },
          { name: 'X-Parse-Request-Id', in: 'header', schema: { type: 'string' } },
        ],
        responses: {
          200: {
            description: 'Done.',
            content: { 'application/json': { schema: { $ref: '#/components/schemas/Results' } } },
          },
        },
      },
      post: {
        operationId: 'createObject',
        tags: ['Objects'],
        security: [{ applicationId: [], sessionToken: [] }],
        parameters: [{ $ref: '#/components/parameters/className' }],
        requestBody: {
          required: true,
          content: { 'application/json': { schema: { $ref: '#/components/schemas/Thing' } } },
        },
        responses: { 201: { description: 'Done.', content: { 'application/json': {} } } },
      },
    },
    '/functions/hello': {
      post: {
        operationId: 'function.hello',
        tags: ['Cloud code'],
        security: [{ applicationId: [], masterKey: [] }],
        responses: { 200: { description: 'Done.' } },
      },
    },
    '/webhooks/paid': {
      servers: [{ url: 'https://shop.example' }],
      get: {
        operationId: 'paid',
        tags: ['Objects'],
        security: [],
        responses: { 200: { content: { 'text/csv': {} } } },
      },
    },
  },
  components: {
    parameters: { className: { name: 'className', in: 'path', required: true, schema: { type: 'string' } } },
    schemas: {
      Results: {
        type: 'object',
        properties: { results: { type: 'array', items: { $ref: '#/components/schemas/Thing' } } },
      },
      Thing: {
        type: 'object',
        required: ['name', 'size'],
        properties: {
          name: { type: 'string', examples: ['Ann'] },
          size: { type: 'integer', minimum: 1, maximum: 9, description: 'How big.' },
          self: { $ref: '#/components/schemas/Thing' },
        },
      },
    },
  },
};

test('the document is read by area, with callers, types and examples', () => {
  const reference = new Reference(document);
  assert.deepEqual(
    reference.areas.map(({ name, operations }) => [name, operations.map(({ id }) => id)]),
    [
      ['Objects', ['findObjects', 'createObject', 'paid']],
      ['Cloud code', ['function.hello']],
    ],
  );
  const callers = reference.operations.map(({ caller }) => caller);
  assert.deepEqual(callers, ['guest', 'user', 'master', 'anyone']);
  assert.equal(reference.find({ name: 'hello' }).path, '/functions/hello');
  assert.equal(reference.find({ id: 'nothing' }), undefined);
  assert.equal(pathOf({ id: 'function.hello' }), '/functions/hello');
  assert.deepEqual(reference.find({ id: 'createObject' }).body.example, { name: 'Ann', size: 1 });
  assert.deepEqual(reference.find({ id: 'findObjects' }).answers[0].content.example, {
    results: [{ name: 'Ann', size: 1 }],
  });
  assert.deepEqual(reference.properties({ $ref: '#/components/schemas/Thing' })[1], {
    name: 'size',
    type: 'integer, 1 … 9',
    isNeeded: true,
    text: 'How big.',
  });
});

const own = { url: 'https://shop.example/parse', headers: { 'X-Parse-Application-Id': 'satchel' } };

test('a request has what was filled in and nothing else', () => {
  const reference = new Reference(document);
  const find = reference.find({ id: 'findObjects' });
  const request = build(find, { className: 'A b', where: '{"a":"ü"}', 'X-Parse-Request-Id': 'x' }, own);
  assert.equal(request.url, 'https://shop.example/parse/classes/A%20b?where=%7B%22a%22%3A%22%C3%BC%22%7D');
  assert.deepEqual(request.headers, own.headers);
  assert.equal(request.body, undefined);
  assert.throws(() => build(find, { className: ' ' }, own), { kind: 'missing', field: 'className' });
  const create = reference.find({ id: 'createObject' });
  assert.throws(() => build(create, { className: 'A', body: '{' }, own), { kind: 'json', field: 'body' });
  assert.throws(() => build(create, { className: 'A' }, own), { kind: 'missing', field: 'body' });
  const made = build(create, { className: 'A', body: '{"name":"Ann"}' }, own);
  assert.deepEqual([made.method, JSON.parse(made.body)], ['POST', { name: 'Ann' }]);
  assert.equal(made.headers['Content-Type'], 'application/json');
});

test('a shell sends what the page shows, and no session is shown', () => {
  const create = new Reference(document).find({ id: 'createObject' });
  const headers = { ...own.headers, 'X-Parse-Session-Token': 'r:0123456789abcdef' };
  const request = build(create, { className: 'A', body: `{"name":"O'Hara $HOME"}` }, { ...own, headers });
  const command = curl(request);
  assert.doesNotMatch(command + shown(request), /9abcdef/);
  assert.match(shown(request), /^POST \/parse\/classes\/A HTTP\/1\.1\nHost: shop\.example\n/);
  const sent = words(`SESSION_TOKEN=r:mine; ${command}`);
  assert.deepEqual(sent.slice(0, 3), ['-X', 'POST', 'https://shop.example/parse/classes/A']);
  assert.ok(sent.includes('X-Parse-Session-Token: r:mine'));
  assert.deepEqual(JSON.parse(sent.at(-1)), { name: "O'Hara $HOME" });
});

test('what needs the master key or speaks no JSON is not tried in a browser', () => {
  const can = new Reference(document).operations.map((operation) => canTry(operation));
  assert.deepEqual(can, [true, true, false, false]);
});

test('an example has places for what is needed', () => {
  const reference = new Reference(document);
  assert.equal(
    sample(reference.find({ id: 'findObjects' }), own).url,
    'https://shop.example/parse/classes/{className}',
  );
  assert.equal(sample(reference.find({ id: 'createObject' }), own).body, '{\n  "name": "Ann",\n  "size": 1\n}');
});

test('the command that signs in keeps the session of the answer in a variable', () => {
  const command = signIn({
    url: 'https://shop.example/parse',
    headers: { 'X-Parse-Application-Id': "a'b", 'X-Parse-Session-Token': 'r:old' },
  });
  const answer = '{"objectId":"u1","sessionToken":"r:0123","username":"ann@example.com"}';
  const script = `curl() { printf '%s\\0' "$@" >&2; echo '${answer}'; }\n${command}\nprintf %s "$SESSION_TOKEN"`;
  const run = spawnSync('bash', ['-c', script], { encoding: 'utf8' });
  assert.equal(run.stdout, 'r:0123');
  const sent = run.stderr.split('\0');
  assert.ok(sent.includes('https://shop.example/parse/login'), run.stderr);
  assert.ok(sent.includes("X-Parse-Application-Id: a'b"), run.stderr);
  assert.doesNotMatch(run.stderr, /Session-Token/);
});
