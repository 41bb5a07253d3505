// <satchel-query-table>: a table of a class's objects, page by page.

import { define } from './element.js';
import { between } from './lists.js';
import { changes } from './parse.js';
import { SatchelTable } from './satchel-table.js';

const QUERY = ['base', 'application-id', 'key', 'class-name', 'where', 'order', 'include', 'keys', 'page-size'];

export class SatchelQueryTable extends SatchelTable {
  static observedAttributes = [...SatchelTable.observedAttributes, ...QUERY];
  /** The attributes after whose change the list begins anew. */
  static asking = QUERY;
  #isAsked = false;

  load = (request) => this.#page(request);

  connectedCallback() {
    super.connectedCallback();
    changes.addEventListener('session', this);
  }

  disconnectedCallback() {
    changes.removeEventListener('session', this);
    super.disconnectedCallback();
  }

  /** After a sign-in or sign-out other objects may be readable. */
  handleEvent() {
    this.pages.again();
  }

  attributeChangedCallback(name, before, after) {
    if (!this.constructor.asking.includes(name)) return super.attributeChangedCallback(name, before, after);
    if (this.#isAsked || this.pages.count === 0) return undefined;
    this.#isAsked = true;
    queueMicrotask(() => {
      this.#isAsked = false;
      if (this.isConnected) this.pages.again();
    });
    return undefined;
  }

  get objects() {
    return this.getAttribute('class-name') ?? '';
  }

  get pageSize() {
    const size = Number.parseInt(this.getAttribute('page-size') ?? '', 10);
    return size > 0 && size <= 100 ? size : 20;
  }

  /** The query; an element for a certain class adds its own options. */
  get query() {
    const get = (name) => this.getAttribute(name) ?? undefined;
    return { where: get('where'), order: get('order'), include: get('include'), keys: get('keys') };
  }

  async #page({ skip, signal }) {
    const limit = this.pageSize;
    const rows = await this.client.find(this.objects, { ...this.query, limit, skip, signal });
    return { rows, isLast: rows.length < limit };
  }

  // Without the attribute `saves`, changes stay in the page.

  #path(row) {
    return `/classes/${encodeURIComponent(this.objects)}/${encodeURIComponent(row.objectId)}`;
  }

  async deleted(row) {
    if (!this.hasAttribute('saves') || !row.objectId) return;
    await this.client.call('DELETE', this.#path(row));
    this.pages.lost(1);
  }

  async inserted(row, place) {
    if (!this.hasAttribute('saves')) return;
    const values = { ...row, ...this.#position(place) };
    const made = await this.client.call('POST', `/classes/${encodeURIComponent(this.objects)}`, { body: values });
    Object.assign(row, values, made);
    this.pages.lost(-1);
  }

  async reordered(row, place) {
    const position = this.#position(place);
    if (!this.hasAttribute('saves') || !row.objectId || Object.keys(position).length === 0) return;
    await this.client.call('PUT', this.#path(row), { body: position });
    Object.assign(row, position);
  }

  /** The number that keeps a row between its neighbours, in the field `position-key`. */
  #position(place) {
    const key = this.getAttribute('position-key');
    return key ? { [key]: between(this.rows[place - 1]?.[key], this.rows[place + 1]?.[key]) } : {};
  }
}

define('satchel-query-table', SatchelQueryTable);
