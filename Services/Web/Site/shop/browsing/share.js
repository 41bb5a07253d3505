// <shop-share>: gives the page's address to another app, or copies it.

class Share extends HTMLElement {
  connectedCallback() {
    if (!navigator.share && !navigator.clipboard) return;
    this.hidden = false;
    this.querySelector('button').addEventListener('click', () => this.#share());
  }

  async #share() {
    const url = document.querySelector('link[rel="canonical"]')?.href ?? location.href;
    const status = this.querySelector('[role="status"]');
    try {
      if (navigator.share) return await navigator.share({ title: document.title, url });
      await navigator.clipboard.writeText(url);
      status.textContent = this.dataset.copied;
    } catch (error) {
      // The shopper has closed the list of apps.
      if (error.name !== 'AbortError') status.textContent = this.dataset.failed;
    }
  }
}

customElements.define('shop-share', Share);
