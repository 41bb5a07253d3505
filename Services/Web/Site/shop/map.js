// <shop-map>: the stores of the list on the dashboard's map, where the shop has tiles. A pin leads to its place in the
// list, and a button of the list to its pin.

/** The stores of the list that have a place. */
export const points = (list) =>
  list.map((store) => ({
    id: store.id,
    name: store.querySelector('strong').textContent,
    place: { latitude: Number(store.dataset.latitude), longitude: Number(store.dataset.longitude) },
  }));

class StoreMap extends (globalThis.HTMLElement ?? Object) {
  async connectedCallback() {
    if (this.firstChild) return;
    const stores = [...document.querySelectorAll('li[data-latitude]')];
    try {
      const { t, useTexts } = await import('../shared/i18n.js');
      useTexts(JSON.parse(this.dataset.texts), document.documentElement.lang);
      await import('../shared/elements/map.js');
      const map = document.createElement('s-map').define({
        label: t('map.stores'),
        hint: t('map.storesHint'),
        open: (id) => document.getElementById(id)?.focus(),
      });
      this.append(map);
      map.show(points(stores));
      for (const store of stores) {
        const button = store.querySelector('button');
        button.hidden = false;
        button.addEventListener('click', () => {
          map.choose(store.id);
          map.scrollIntoView({ block: 'nearest' });
        });
      }
    } catch {
      // The list has the same stores.
      this.hidden = true;
    }
  }
}

globalThis.customElements?.define('shop-map', StoreMap);
