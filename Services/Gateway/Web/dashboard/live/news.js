// News of a view, where screen readers hear of them: said alone, or offered with a button where showing them would move
// what somebody reads.

import { fill, h } from '../../shared/dom.js';
import { t } from '../../shared/i18n.js';

export function newsLine() {
  const text = h('p');
  let work = () => {};
  const bar = h('div.card.bar.news', text, h('button', { type: 'button', onclick: () => work() }, t('live.show')));
  const element = h('div.newsPlace', { role: 'status' });
  return {
    element,
    /** For who does not see it happen. */
    say(words) {
      fill(element, h('span.unseen', words));
    },
    /** The same words twice are said once. */
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
