// Makes the pages' modules loadable in Node: in a folder that declares them as modules, with the browser objects that
// they access while loading.
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const folder = mkdtempSync(join(tmpdir(), 'satchel-pages-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
cpSync(fileURLToPath(new URL('../../Services/Web/Site', import.meta.url)), folder, { recursive: true });
writeFileSync(join(folder, 'package.json'), '{"type":"module"}');

const metas = { mount: '/parse', 'application-id': 'satchel', currency: 'usd', languages: 'de en pt-BR' };
globalThis.document = {
  querySelector: (selector) => ({ content: metas[/satchel-([a-z-]+)/.exec(selector)?.[1]] ?? '' }),
};
Object.defineProperty(globalThis, 'navigator', { value: { languages: ['en-US'] }, configurable: true });

/** Loads a module of `shared` by path. */
export const load = (path) => import(pathToFileURL(join(folder, 'shared', path)));

/** Loads a module of the dashboard by path. */
export const loadView = (path) => import(pathToFileURL(join(folder, 'dashboard', path)));

/** Loads a module of the page for app developers by path. */
export const loadDevelopers = (path) => import(pathToFileURL(join(folder, 'developers', path)));

/** Loads a module of the storefront by path. */
export const loadShop = (path) => import(pathToFileURL(join(folder, 'shop', path)));

/** Loads a module of the elements for any site by path. */
export const loadComponent = (path) => import(pathToFileURL(join(folder, 'components', path)));

/** A tab's session storage. */
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
