// The head of the storefront's pages: the number of pieces in the bag. Pages are the same for every shopper, so that the
// number is asked for separately, and again when the browser shows a page that it kept.

import './browsing.js';

async function showBadge() {
  const badge = document.querySelector('[data-badge]');
  if (!badge) return;
  try {
    const response = await fetch('/badge', { headers: { Accept: 'application/json' } });
    if (!response.ok) return;
    const { pieces } = await response.json();
    badge.hidden = pieces === 0;
    badge.textContent = String(pieces);
    badge.setAttribute('aria-label', badge.dataset.label.replace('{n}', String(pieces)));
  } catch {
    // Offline: the page is usable without the number.
  }
}

/** A form is sent once, however often its button is pressed. */
function sendOnce(event) {
  const form = event.target;
  if (form.dataset.sent) return event.preventDefault();
  form.dataset.sent = 'true';
}

/** A page from the browser's memory is old: its forms can be sent again, and pages of the bag are loaded anew. */
function shownAgain(event) {
  if (!event.persisted) return;
  for (const form of document.querySelectorAll('form[data-sent]')) delete form.dataset.sent;
  showBadge();
}

document.addEventListener('submit', sendOnce);
window.addEventListener('pageshow', shownAgain);
showBadge();
