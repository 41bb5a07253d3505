// Shows the name and favorites of a signed-in shopper on a page.

/** Names the link to the account by the shopper's first name. Its text stays, so that nothing on the page moves. */
export function showName(link, name) {
  if (!link) return;
  link.title = name ?? '';
  if (name) link.setAttribute('aria-label', `${link.textContent} (${name})`);
  else link.removeAttribute('aria-label');
}

/** The form that adds a product to the favorites, or removes it. */
export function showFavorite(form, favorite) {
  const field = form.querySelector('input');
  const button = form.querySelector('button');
  form.dataset.add ??= button.textContent;
  const isFavorite = Boolean(favorite);
  field.name = isFavorite ? 'remove' : 'product';
  field.value = isFavorite ? favorite : form.dataset.favorite;
  button.textContent = isFavorite ? form.dataset.remove : form.dataset.add;
}
