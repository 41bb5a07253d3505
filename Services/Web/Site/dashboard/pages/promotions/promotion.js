// One promotion: its editor, sending and results.

import { ask, call, create, get, update } from '../../../shared/api.js';
import { fill, h } from '../../../shared/dom.js';
import { dialog } from '../../../shared/elements/dialog.js';
import { attend, mayLose } from '../../../shared/elements/form.js';
import { failure, toast } from '../../../shared/elements/toast.js';
import { beginning, dateTime } from '../../../shared/format.js';
import { t } from '../../../shared/i18n.js';
import { problemLine } from '../../../shared/problems.js';
import { reverse } from '../../../shared/undo.js';
import { settle } from '../../../shared/unsaved.js';
import { heading } from '../../lists/listing.js';
import { refill } from '../../live/keep-focus.js';
import { every } from '../../operations/shared.js';
import { promotionForm } from '../../promotions/form.js';
import { promotionResult } from '../../promotions/result.js';
import { sendPromotion, stopPromotion } from '../../promotions/send.js';

const isOpen = (push) => ['scheduled', 'pending', 'running'].includes(push.status);
const isSending = (report) => (report.pushes ?? []).some(({ status }) => ['pending', 'running'].includes(status));
const PAUSE = 3000;

export async function render({ params, router, signal, redraw }) {
  const isNew = params.id === 'new';
  const [promotion, report] = isNew
    ? [{}, null]
    : await Promise.all([get('Promotion', params.id, { signal, include: 'product' }), reportOf(params.id, signal)]);
  const form = promotionForm(promotion, saver(promotion, isNew, router, redraw), { router, signal });
  const [told, doings] = [h('div'), h('div.actions')];
  const draw = (next) => {
    fill(told, promotionResult(next));
    refill(doings, actions(promotion, next, form, router, redraw));
  };
  if (report) draw(report);
  if (report && isSending(report)) follow(params.id, draw, signal);
  return [
    h('a.back', { href: router.back('/promotions') }, `← ${t('area.promotions')}`),
    heading(
      isNew ? t('promotions.add') : beginning(promotion.content, 60) || promotion.objectId,
      isNew ? t('promotion.newNote') : t('promotion.since', { date: dateTime(promotion.createdAt) }),
      isNew ? null : doings,
    ),
    told,
    form.element,
  ];
}

const reportOf = (promotionId, signal) => ask('promotionReport', { promotionId }, signal).catch((error) => ({ error }));

/** Shows the figures as they grow, until everything is sent. */
function follow(id, draw, signal) {
  let isOver = false;
  every(PAUSE, signal, async () => {
    if (isOver || document.hidden) return;
    const report = await reportOf(id, signal);
    if (report.error || signal.aborted) return;
    isOver = !isSending(report);
    draw(report);
  });
}

/** Saves the form and shows errors. A new promotion continues at its own URL. */
function saver(promotion, isNew, router, redraw) {
  const problem = problemLine();
  const save = (form, read) => {
    const submit = async () => {
      const wanted = await read();
      if (isNew) {
        const { objectId } = await create('Promotion', wanted);
        settle(form);
        await router.go(`/promotions/${objectId}`, {}, { replace: true });
        toast(t('promotion.saved'));
        return;
      }
      await update('Promotion', promotion.objectId, wanted);
      settle(form);
      // The view is redrawn before the note appears: after reading it an operator can send at once.
      await redraw();
      toast(t('promotion.saved'), 'good', async () => {
        await update('Promotion', promotion.objectId, reverse(promotion, wanted));
        await redraw();
      });
    };
    const send = form.querySelector('[type=submit]');
    attend(form, { name: `promotion ${promotion.objectId ?? 'new'}`, problem, send, submit });
  };
  return Object.assign(save, { problem });
}

function actions(promotion, report, form, router, redraw) {
  const after = (done) => done && redraw();
  // A chosen photo would be lost.
  const refresh = async () => (await mayLose([form.element])) && redraw();
  const send = () => {
    if (form.isChanged()) failure(new Error(t('promotion.saveFirst')));
    else sendPromotion(promotion).then(after);
  };
  const remove = () =>
    dialog({
      title: t('object.removeTitle', { name: beginning(promotion.content, 60) }),
      text: t('promotion.removeText'),
      confirm: t('action.delete'),
      isDanger: true,
      async submit() {
        await call('DELETE', `/classes/Promotion/${encodeURIComponent(promotion.objectId)}`);
        toast(t('promotion.removed'));
      },
    }).then((done) => {
      if (!done) return;
      settle(form.element);
      router.go('/promotions');
    });
  return [
    h('button', { type: 'button', onclick: refresh }, t('promotion.refresh')),
    (report.pushes ?? []).some(isOpen)
      ? h('button.danger', { type: 'button', onclick: () => stopPromotion(promotion).then(after) }, t('stop.confirm'))
      : null,
    h('button.quiet', { type: 'button', onclick: remove }, t('action.delete')),
    h('button.primary', { type: 'button', onclick: send }, t('promotion.send')),
  ];
}
