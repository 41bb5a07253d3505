// <shop-near>: opens the list of stores around the shopper's position, which the browser asks permission for.

/** The page with the stores around a position. Three decimals, about 100 m, are enough to find a store. */
export const pathNear = ({ latitude, longitude }) =>
  `/stores?latitude=${latitude.toFixed(3)}&longitude=${longitude.toFixed(3)}`;

/** `GeolocationPositionError.PERMISSION_DENIED` */
const DENIED = 1;

class Near extends (globalThis.HTMLElement ?? Object) {
  connectedCallback() {
    if (!navigator.geolocation) return;
    this.hidden = false;
    const status = this.querySelector('[role="status"]');
    this.querySelector('button').addEventListener('click', () => {
      status.textContent = this.dataset.waiting;
      navigator.geolocation.getCurrentPosition(
        ({ coords }) => location.assign(pathNear(coords)),
        ({ code }) => {
          status.textContent = code === DENIED ? this.dataset.denied : this.dataset.failed;
        },
        { timeout: 15000, maximumAge: 300000 },
      );
    });
  }
}

globalThis.customElements?.define('shop-near', Near);
