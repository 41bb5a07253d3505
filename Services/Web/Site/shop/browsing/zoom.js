// <shop-zoom>: the picture of a product over the whole page. Without scripts its link opens the file.

class Zoom extends HTMLElement {
  #dialog = null;

  connectedCallback() {
    const link = this.querySelector('a');
    if (!link) return;
    link.setAttribute('aria-haspopup', 'dialog');
    link.setAttribute('aria-label', `${this.dataset.open}: ${link.querySelector('img')?.alt ?? ''}`);
    link.addEventListener('click', (event) => {
      if (event.metaKey || event.ctrlKey || event.shiftKey) return;
      event.preventDefault();
      this.#dialog ??= this.#made(link);
      this.#dialog.showModal();
    });
  }

  #made(link) {
    const dialog = document.createElement('dialog');
    dialog.className = 'zoom';
    dialog.setAttribute('aria-label', link.querySelector('img')?.alt ?? '');
    const close = document.createElement('button');
    close.type = 'button';
    close.textContent = this.dataset.close;
    close.addEventListener('click', () => dialog.close());
    const area = document.createElement('div');
    // Arrow keys scroll the enlarged picture.
    area.tabIndex = 0;
    const picture = document.createElement('img');
    picture.src = link.href;
    picture.alt = dialog.getAttribute('aria-label');
    const turn = (x, y) => {
      area.classList.toggle('near');
      // The point under the pointer comes to the middle.
      area.scrollTo(x * area.scrollWidth - area.clientWidth / 2, y * area.scrollHeight - area.clientHeight / 2);
    };
    picture.addEventListener('click', (event) => {
      const box = picture.getBoundingClientRect();
      turn((event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height);
    });
    area.addEventListener('keydown', (event) => {
      const isNear = area.classList.contains('near');
      if ((event.key === '+' && !isNear) || (event.key === '-' && isNear) || event.key === 'Enter') turn(0.5, 0.5);
    });
    area.append(picture);
    dialog.append(close, area);
    this.append(dialog);
    return dialog;
  }
}

customElements.define('shop-zoom', Zoom);
