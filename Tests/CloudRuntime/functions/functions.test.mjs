// Cloud functions in modern style: their results and errors.
import { call, modern, snippets } from '../snippets.mjs';

const failed = (code, message) => ({ error: { code, message } });
const pointer = (className, objectId) => ({ __type: 'Pointer', className, objectId });

snippets('modern functions answer what they return', [
  { name: 'a text', code: modern("return 'Hello';"), run: call(), expected: { result: 'Hello' } },
  {
    name: 'a plain value without a promise',
    code: "Parse.Cloud.define('f', () => 42);",
    run: call(),
    expected: { result: 42 },
  },
  { name: 'nothing', code: modern(''), run: call(), expected: { result: undefined } },
  { name: 'null', code: modern('return null;'), run: call(), expected: { result: null } },
  { name: 'a date', code: modern("return new Date('2024-05-06T07:08:09.123Z');"), run: call(),
    expected: { result: { __type: 'Date', iso: '2024-05-06T07:08:09.123Z' } } },
  { name: 'nested values', code: modern('return { a: [1, { b: new Parse.GeoPoint(1, 2) }], c: true };'), run: call(),
    expected: { result: { a: [1, { b: { __type: 'GeoPoint', latitude: 1, longitude: 2 } }], c: true } } },
  { name: 'bytes', code: modern("return Buffer.from('hello');"), run: call(),
    expected: { result: { __type: 'Bytes', base64: 'aGVsbG8=' } } },
  {
    name: 'a pointer for an object without data',
    code: modern("return Parse.Object.createWithoutData.call(Parse.Object.extend('Game'), 'g1');"),
    run: call(),
    expected: { result: pointer('Game', 'g1') },
  },
  {
    name: 'whole objects that were read',
    code: modern("return new Parse.Query('Game').find();"),
    run: call(),
    answers: {
      'GET /classes/Game': { results: [{ objectId: 'g1', score: 5, createdAt: '2024-01-01T00:00:00.000Z' }] },
    },
    expectedAsks: [{
      method: 'GET',
      path: '/classes/Game',
      query: { where: {} },
      auth: { master: false, sessionToken: null },
    }],
    expected: {
      result: [{
        __type: 'Object',
        className: 'Game',
        objectId: 'g1',
        score: 5,
        createdAt: '2024-01-01T00:00:00.000Z',
        updatedAt: '2024-01-01T00:00:00.000Z',
      }],
    },
  },
  {
    name: 'an included object inside another',
    code: modern("return (await new Parse.Query('Game').include('owner').first()).get('owner').get('name');"),
    run: call(),
    answers: {
      'GET /classes/Game': {
        results: [{ objectId: 'g1', owner: { __type: 'Object', className: 'Player', objectId: 'p1', name: 'Ann' } }],
      },
    },
    expectedAsks: [{ query: { where: {}, include: 'owner', limit: 1 } }],
    expected: { result: 'Ann' },
  },
  {
    name: 'a promise that is not awaited',
    code: "Parse.Cloud.define('f', () => Promise.resolve('later'));",
    run: call(),
    expected: { result: 'later' },
  },
  {
    name: 'a Parse.Promise',
    code: "Parse.Cloud.define('f', () => Parse.Promise.as('later'));",
    run: call(),
    expected: { result: 'later' },
  },
  { name: 'a function in a namespace', code: "Parse.Cloud.define('shop.f', () => 1);",
    run: { kind: 'function', name: 'shop.f' }, expected: { result: 1 } },
  { name: 'the last definition of a name', code: "Parse.Cloud.define('f', () => 1); Parse.Cloud.define('f', () => 2);",
    run: call(), expected: { result: 2 }, logs: [['warn', 'defined more than once']] },
]);

snippets('modern functions fail with what they throw', [
  { name: 'an Error is 141', code: modern("throw new Error('no');"), run: call(), expected: failed(141, 'no') },
  { name: 'a text is 141', code: modern("throw 'no';"), run: call(), expected: failed(141, 'no') },
  {
    name: 'nothing is 141 with a text of its own',
    code: modern('throw undefined;'),
    run: call(),
    expected: failed(141, 'Script failed.'),
  },
  { name: 'a Parse.Error keeps its code', code: modern("throw new Parse.Error(Parse.Error.OBJECT_NOT_FOUND, 'gone');"),
    run: call(), expected: failed(101, 'gone') },
  {
    name: "a code of the application's own",
    code: modern("throw new Parse.Error(9001, 'sold out');"),
    run: call(),
    expected: failed(9001, 'sold out'),
  },
  {
    name: 'an object without a text is JSON',
    code: modern('throw { reason: 7 };'),
    run: call(),
    expected: failed(141, '{"reason":7}'),
  },
  {
    name: 'an object with a message',
    code: modern("throw { code: 5, message: 'odd' };"),
    run: call(),
    expected: failed(141, 'odd'),
  },
  {
    name: 'a TypeError of the code',
    code: modern('return undefined.x;'),
    run: call(),
    expected: failed(141, /Cannot read properties of undefined/),
  },
  {
    name: 'an exception without async',
    code: "Parse.Cloud.define('f', () => { throw new Error('at once'); });",
    run: call(),
    expected: failed(141, 'at once'),
  },
  {
    name: 'a rejected Parse.Promise',
    code: "Parse.Cloud.define('f', () => Parse.Promise.error('no'));",
    run: call(),
    expected: failed(141, 'no'),
  },
  {
    name: "the server's error of a request goes through",
    code: modern("return new Parse.Query('Game').get('g1');"),
    run: call(),
    answers: { 'GET /classes/Game': { status: 400, body: { code: 119, error: 'Permission denied' } } },
    expected: failed(119, 'Permission denied'),
  },
  { name: 'an unknown function', code: '', run: call(), expected: failed(141, 'Invalid function: "f"') },
  {
    name: 'a name of the prototype is unknown',
    code: '',
    run: { kind: 'function', name: 'constructor' },
    expected: failed(141, 'Invalid function: "constructor"'),
  },
  {
    name: 'a circle cannot be answered',
    code: modern('const a = {}; a.a = a; return a;'),
    run: call(),
    expected: failed(141, /call stack/i),
  },
  { name: 'a BigInt cannot be answered', code: modern('return 1n;'), run: call(), expected: failed(141, /BigInt/) },
  {
    name: 'an unsaved object cannot be answered',
    code: modern("return new Parse.Object('Game');"),
    run: call(),
    expected: failed(141, /unsaved ParseObject/),
  },
  {
    name: 'an unsaved file cannot be answered',
    code: modern("return new Parse.File('a.txt', [1]);"),
    run: call(),
    expected: failed(141, /unsaved file/),
  },
]);
