// Measures the runtime's work on a client's lists, at one size and at multiples of it. Prints a line of JSON for
// each piece of work. costs.test.mjs runs it with `--expose-gc` and a young generation so large that no collection is
// measured.
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
const runtime = '../../../Services/Cloud/Runtime';
const { Parse } = require(`${runtime}/parse/index.js`);
const { decodeParams } = require(`${runtime}/params.js`);

const numbers = (size, first = 0) => Array.from({ length: size }, (_, at) => first + at);
const texts = (size, first) => numbers(size, first).map((number) => `an element ${number}`);
const pointers = (size, letter) => numbers(size).map((number) => (
  { __type: 'Pointer', className: 'Fan', objectId: `${letter}${number}` }
));
const stored = (fields) => Parse.Object.fromJSON({ className: 'Band', objectId: 'b1', ...fields });
const operator = (name, objects) => ({ __op: name, objects });

/** Each function creates the measured work for a size. */
const works = {
  'AddUnique of texts': (size) => {
    const [list, objects] = [texts(size), texts(size, size)];
    return () => stored({ list }).set('list', operator('AddUnique', objects)).get('list');
  },
  'AddUnique of objects': (size) => {
    const list = numbers(size).map((number) => ({ a: number, b: [number] }));
    return () => stored({ list }).set('list', operator('AddUnique', list)).get('list');
  },
  Remove: (size) => {
    const [list, objects] = [texts(size), texts(size, size)];
    return () => stored({ list }).set('list', operator('Remove', objects)).get('list');
  },
  'a Batch of relation operators': (size) => {
    const ops = [operator('AddRelation', pointers(size, 'a')), operator('RemoveRelation', pointers(size, 'b'))];
    return () => stored({}).set('fans', { __op: 'Batch', ops })._getSaveJSON();
  },
  'members of one field': (size) => {
    const changes = Object.fromEntries(numbers(size).map((number) => [`box.m${number}`, number]));
    return () => stored({ box: {} }).set(changes).attributes;
  },
  'elements of one list': (size) => {
    const changes = Object.fromEntries(numbers(size).map((number) => [`list.${number}`, number]));
    return () => stored({ list: numbers(size) }).set(changes).attributes;
  },
  fields: (size) => {
    const changes = Object.fromEntries(numbers(size).map((number) => [`f${number}`, number]));
    return () => stored({}).set(changes).attributes;
  },
  'parameters with operators': (size) => {
    const params = { a: operator('AddUnique', numbers(size)), b: { __type: 'Object', className: 'A', list: numbers(size) } };
    return () => decodeParams(params);
  },
  '_.difference': (size) => () => Parse._.difference(texts(size), texts(size, size)),
  '_.intersection': (size) => () => Parse._.intersection(texts(size), texts(size, size)),
};

/** Processor time in milliseconds: the minimum of several runs, excluding garbage collection between them. */
function timeOf(work, repetitions) {
  let least = Infinity;
  for (let run = 0; run < 5; run += 1) {
    let used = 0;
    for (let repetition = 0; repetition < repetitions; repetition += 1) {
      globalThis.gc({ type: 'minor' });
      const start = process.cpuUsage();
      work();
      const { user, system } = process.cpuUsage(start);
      used += user + system;
    }
    least = Math.min(least, used);
  }
  return least / 1000;
}

/**
 * Other processes and the compiler's threads can only increase a time, so the minimum of several rounds counts.
 * Further rounds only while the ratio is too large.
 */
function measured(smallWork, largeWork, repetitions, ratioMax) {
  let [small, large] = [Infinity, Infinity];
  for (let round = 0; round < 10 && (round === 0 || large / small > ratioMax); round += 1) {
    small = Math.min(small, timeOf(smallWork, repetitions));
    large = Math.min(large, timeOf(largeWork, repetitions));
  }
  return { small, large };
}

/**
 * How much faster than its size a work's time may grow. The second row decides when the first is exceeded: cache
 * misses alone can exceed the first, and each quadratic work that exceeds the first exceeds the second.
 */
const BOUNDS = [{ multiple: 4, bound: 1.3 }, { multiple: 16, bound: 2 }];
const SIZE = 1000;
/** An object of a thousand members fits into the processor's cache, and one of four thousand does not. */
const larger = { 'members of one field': 4000, 'elements of one list': 4000 };
for (const [name, workOf] of Object.entries(works)) {
  const size = larger[name] ?? SIZE;
  const smallWork = workOf(size);
  for (let warmUp = 0; warmUp < 20; warmUp += 1) smallWork();
  const repetitions = Math.ceil(20 / timeOf(smallWork, 1));
  let result;
  for (const { multiple, bound } of BOUNDS) {
    result = measured(smallWork, workOf(size * multiple), repetitions, multiple * bound);
    Object.assign(result, { name, multiple, isLinear: result.large / result.small <= multiple * bound });
    if (result.isLinear) break;
  }
  console.log(JSON.stringify(result));
}
