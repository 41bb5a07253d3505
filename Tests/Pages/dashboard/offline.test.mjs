// A page whose files were replaced by an upgrade.
import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { loadView, Storage } from '../pages.mjs';

const { missingModule } = await loadView('shell/offline.js');

test('the page is loaded anew after each upgrade, and not over and over', async () => {
  const missing = new TypeError('Failed to fetch dynamically imported module');
  let loads = 0;
  Object.assign(globalThis, {
    sessionStorage: new Storage(),
    location: {
      reload() {
        loads += 1;
      },
    },
    fetch: async () => ({}),
  });
  mock.timers.enable({ apis: ['Date'], now: Date.UTC(2030, 4, 2) });
  /** The page that is loaded anew never goes on. */
  const met = () =>
    Promise.race([missingModule(missing).catch(() => 'told'), new Promise((done) => setImmediate(done, 'loaded'))]);
  assert.equal(await met(), 'loaded');
  assert.equal(await met(), 'told');
  mock.timers.tick(86_400_000);
  assert.equal(await met(), 'loaded');
  assert.equal(await met(), 'told');
  assert.equal(loads, 2);
  mock.timers.reset();
});
