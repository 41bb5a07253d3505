// The modules of pages, as Node can take them: in a folder that says they are modules, with what of a browser
// they look at when they are loaded.
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const folder = mkdtempSync(join(tmpdir(), 'satchel-pages-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
cpSync(fileURLToPath(new URL('../../Services/Gateway/Web', import.meta.url)), folder, { recursive: true });
writeFileSync(join(folder, 'package.json'), '{"type":"module"}');

const metas = { mount: '/parse', 'application-id': 'satchel', currency: 'usd' };
globalThis.document = {
  querySelector: (selector) => ({ content: metas[/satchel-([a-z-]+)/.exec(selector)?.[1]] ?? '' }),
};
Object.defineProperty(globalThis, 'navigator', { value: { languages: ['en-US'] }, configurable: true });

/** A module of `shared` by its path. */
export const load = (path) => import(pathToFileURL(join(folder, 'shared', path)));

/** A module of the dashboard by its path. */
export const loadView = (path) => import(pathToFileURL(join(folder, 'dashboard', path)));

/** A module of the page for app developers by its path. */
export const loadDevelopers = (path) => import(pathToFileURL(join(folder, 'developers', path)));

/** The storage of a tab. */
export class Storage {
  items = new Map();
  getItem(key) {
    return this.items.get(key) ?? null;
  }
  setItem(key, value) {
    this.items.set(key, String(value));
  }
  removeItem(key) {
    this.items.delete(key);
  }
}
