// Sends a promotion and stops it.

import { newKey, run } from '../../shared/api.js';
import { dialog } from '../../shared/elements/dialog.js';
import { toast } from '../../shared/elements/toast.js';
import { dateTime, moment } from '../../shared/format.js';
import { t } from '../../shared/i18n.js';
import { audienceWords } from './audience.js';
import { audienceCount } from './audience-count.js';

/** Asks for confirmation of audience and time, then sends. A sent push cannot be recalled. */
export function sendPromotion(promotion) {
  const { key, values: words } = audienceWords(promotion.audience);
  const planned = moment(promotion.schedule);
  const isLater = planned && planned > new Date();
  const open = new AbortController();
  const count = audienceCount(open.signal);
  count.show(promotion.audience ?? null);
  return dialog({
    title: t('send.title'),
    text: [
      t('send.to', { audience: t(key, words) }),
      isLater ? t('send.later', { date: dateTime(planned) }) : t('send.now'),
    ].join(' '),
    confirm: t(isLater ? 'send.confirmLater' : 'send.confirm'),
    content: count.element,
    fields: [{ name: 'title', label: t('send.heading'), maxlength: 100, hint: t('send.headingHint') }],
    async submit({ title }) {
      const parameters = { promotionId: promotion.objectId, ...(title.trim() ? { title: title.trim() } : {}) };
      try {
        await run('sendPromotion', parameters, newKey());
        toast(t(isLater ? 'send.planned' : 'send.done'));
      } catch (error) {
        if (!error.isUnsure) throw error;
        // It may have been sent, and pressing again would send it twice. The redrawn view shows its state.
        toast(t('send.unknown'), 'bad');
      }
      return true;
    },
  }).finally(() => open.abort());
}

export function stopPromotion(promotion) {
  return dialog({
    title: t('stop.title'),
    text: t('stop.text'),
    confirm: t('stop.confirm'),
    isDanger: true,
    async submit() {
      const { cancelled } = await run('cancelPromotion', { promotionId: promotion.objectId });
      toast(t('stop.done', { n: cancelled }));
    },
  });
}
