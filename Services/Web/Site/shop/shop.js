// The shopper's part of the storefront's pages: the number of pieces in the bag, the name, and whether the product is a
// favorite. Pages are the same for every shopper, so that this is asked for separately, and again when the browser shows
// a page that it kept.

import './browsing.js';
import { showFavorite, showName } from './shopper.js';

async function showShopper() {
  const badge = document.querySelector('[data-badge]');
  if (!badge) return;
  const favorite = document.querySelector('[data-favorite]');
  const query = favorite ? `?product=${encodeURIComponent(favorite.dataset.favorite)}` : '';
  try {
    const response = await fetch(`/badge${query}`, { headers: { Accept: 'application/json' } });
    if (!response.ok) return;
    const shopper = await response.json();
    const { pieces } = shopper;
    badge.hidden = pieces === 0;
    badge.textContent = String(pieces);
    badge.setAttribute('aria-label', badge.dataset.label.replace('{n}', String(pieces)));
    showName(document.querySelector('[data-account]'), shopper.name);
    if (favorite) showFavorite(favorite, shopper.favorite);
  } catch {
    // Offline: the page is usable without them.
  }
}

/** A form is sent once, however often its button is pressed; again only when no answer came. */
function sendOnce(event) {
  const form = event.target;
  if (form.dataset.sent) return event.preventDefault();
  form.dataset.sent = 'true';
  setTimeout(() => delete form.dataset.sent, 5000);
}

/** Pages that show the shopper's own data. */
const OWN = /^\/(account|bag|checkout|favorites|orders)(\/|$)/;

/** A page from the browser's memory is old: its forms can be sent again, and the shopper's pages are loaded anew. */
function shownAgain(event) {
  if (!event.persisted) return;
  if (OWN.test(location.pathname)) return location.reload();
  for (const form of document.querySelectorAll('form[data-sent]')) delete form.dataset.sent;
  showShopper();
}

document.addEventListener('submit', sendOnce);
window.addEventListener('pageshow', shownAgain);
showShopper();
