// The line for news of a view, announced by screen readers: a text alone, or with a button when showing the changes
// would move the content.

import { fill, h } from '../../shared/dom.js';
import { t } from '../../shared/i18n.js';

export function newsLine() {
  const text = h('p');
  let work = () => {};
  const bar = h('div.card.bar.news', text, h('button', { type: 'button', onclick: () => work() }, t('live.show')));
  const element = h('div.newsPlace', { role: 'status' });
  return {
    element,
    /** For screen readers only. */
    say(words) {
      fill(element, h('span.unseen', words));
    },
    /** The same text is announced only once. */
    offer(words, show) {
      work = show;
      if (text.textContent !== words) fill(text, words);
      if (!bar.isConnected) fill(element, bar);
    },
    clear() {
      fill(element);
    },
  };
}
