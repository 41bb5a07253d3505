// The runtime's time for a client's lists is linear in their size.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { call, modern, snippets, trigger } from '../snippets.mjs';

const operator = (name, objects) => ({ __op: name, objects });

test('the time of a list grows linearly with its elements', { timeout: 300_000 }, async (suite) => {
  const measuring = fileURLToPath(new URL('costs.mjs', import.meta.url));
  const options = ['--expose-gc', '--min-semi-space-size=256', '--max-semi-space-size=256', measuring];
  const { stdout } = await promisify(execFile)(process.execPath, options);
  for (const { name, small, large, multiple, isLinear } of stdout.trim().split('\n').map((line) => JSON.parse(line))) {
    await suite.test(name, () => assert.ok(isLinear, `${small} ms, then ${large} ms for ${multiple} times the size`));
  }
});

snippets('operators of clients', [
  {
    name: 'stay plain JSON in parameters',
    code: modern(`const { add, at, nested, odd } = request.params;
      return [add.__op, add.objects.length, at.toISOString(), nested.of.id, odd.a.__op, odd instanceof Parse.Object];`),
    run: call({
      add: operator('AddUnique', [1, 1]), at: { __type: 'Date', iso: '2024-01-02T03:04:05.000Z' },
      nested: { of: { __type: 'Pointer', className: 'Item', objectId: 'x1' } },
      odd: { __type: 'Object', className: 'Item', objectId: 'x1', a: operator('Remove', [1]) },
    }),
    expected: { result: ['AddUnique', 2, '2024-01-02T03:04:05.000Z', 'x1', 'Remove', false] },
  },
  {
    name: 'are merged by the value of their elements',
    code: `Parse.Cloud.beforeSave('Item', ({ object }) => {
      object.addAllUnique('tags', [{ b: 2, a: 1 }, 'text 1', 1, '1']);
      object.set('seen', object.get('tags').length);
    });`,
    run: trigger('beforeSave', {
      object: { objectId: 'x1', tags: operator('AddUnique', [{ a: 1, b: 2 }, 1]) },
      original: { objectId: 'x1', tags: [{ a: 1, b: 2 }] }, dirtyKeys: ['tags'],
    }),
    expected: {
      result: {
        context: {},
        object: {
          objectId: 'x1', seen: 4, tags: operator('AddUnique', [{ a: 1, b: 2 }, 1, 'text 1', '1']),
        },
      },
    },
  },
]);
