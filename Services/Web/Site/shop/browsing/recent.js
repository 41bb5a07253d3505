// <shop-recent>: the products that this browser has shown last, without the one of this page.

import { forget, view, viewed } from './viewed.js';

function card({ name, href, picture }) {
  const item = document.createElement('li');
  item.className = 'card';
  const link = document.createElement('a');
  link.href = href;
  const title = document.createElement('span');
  title.className = 'name';
  title.textContent = name;
  let image = null;
  if (picture) {
    image = document.createElement('img');
    image.alt = '';
    image.width = 408;
    image.height = 408;
    image.loading = 'lazy';
    image.src = picture;
  } else {
    image = document.createElement('span');
    image.className = 'blank';
  }
  link.append(image, title);
  item.append(link);
  return item;
}

class Recent extends HTMLElement {
  connectedCallback() {
    let storage = null;
    try {
      storage = localStorage;
    } catch {
      return;
    }
    const { id, name, href, picture } = this.dataset;
    const others = viewed(storage).filter((product) => product.id !== id);
    if (id) view(storage, { id, name, href, picture });
    this.querySelector('ul').replaceChildren(...others.map(card));
    this.hidden = others.length === 0;
    this.querySelector('button').addEventListener('click', () => {
      forget(storage);
      this.hidden = true;
    });
  }
}

customElements.define('shop-recent', Recent);
