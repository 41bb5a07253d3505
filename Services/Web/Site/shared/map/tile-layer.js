// The tiles of a map, from the configured host. Without tiles, or for a missing tile, the lines of the map are visible.

import { fill, h } from '../dom.js';
import { server } from '../settings.js';
import { tiles } from './mercator.js';

export const hasTiles = Boolean(server.tiles);

export class TileLayer {
  element = h('div.tiles', { 'aria-hidden': 'true' });
  #images = new Map();

  draw(view, size) {
    if (!hasTiles) return;
    const wanted = new Map(tiles(view, size).map((tile) => [`${tile.z}/${tile.x}/${tile.y}/${tile.column}`, tile]));
    for (const [key, image] of this.#images) {
      if (wanted.has(key)) continue;
      image.remove();
      this.#images.delete(key);
    }
    for (const [key, tile] of wanted) {
      if (!this.#images.has(key)) this.#images.set(key, this.#add(tile));
      const { style } = this.#images.get(key);
      style.transform = `translate(${tile.left}px, ${tile.top}px)`;
      // Rounded up, so that no gap shows between tiles.
      style.width = `${Math.ceil(tile.size)}px`;
      style.height = style.width;
    }
  }

  #add(tile) {
    // Many tile hosts require the site's origin in the request.
    const image = h('img', { alt: '', draggable: 'false', decoding: 'async', referrerpolicy: 'strict-origin' });
    image.addEventListener('error', () => {
      image.hidden = true;
    });
    image.src = server.tiles.replace(/\{([zxy])\}/g, (_, name) => tile[name]);
    this.element.append(image);
    return image;
  }
}

/** The attribution: a text, with a link when it ends with a URL. */
export function attribution() {
  if (!hasTiles) return null;
  const [, text, url] = /^(.*?)\s*(https?:\/\/\S+)?$/.exec(server.tilesAttribution) ?? [];
  const whose = h('p.attribution');
  return fill(whose, url ? h('a', { href: url, target: '_blank', rel: 'noreferrer' }, text || url) : text);
}
