// <shop-copy>: copies the text of its `data-text`.

class Copy extends HTMLElement {
  connectedCallback() {
    if (!navigator.clipboard) return;
    this.hidden = false;
    this.querySelector('button').addEventListener('click', () => this.#copy());
  }

  async #copy() {
    const status = this.querySelector('[role="status"]');
    try {
      await navigator.clipboard.writeText(this.dataset.text);
      status.textContent = this.dataset.copied;
    } catch {
      status.textContent = this.dataset.failed;
    }
  }
}

customElements.define('shop-copy', Copy);
