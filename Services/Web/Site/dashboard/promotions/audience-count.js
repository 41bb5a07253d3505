// The current number of devices in an audience, updated while the operator edits it.

import { fill, h } from '../../shared/dom.js';
import { number } from '../../shared/format.js';
import { t } from '../../shared/i18n.js';
import { askIfThere } from '../shell/areas.js';

const PAUSE = 400;

/**
 * A line with the number of devices.
 * @param signal ends with the view.
 * @returns `{ element, show(audience) }`; `show` takes the stored form of an audience, null for all devices, and
 *   undefined while the form is incomplete. It sends its request after a short pause and cancels an older one.
 */
export function audienceCount(signal) {
  const element = h('p.hint', { role: 'status' });
  let timer = 0;
  let question = new AbortController();
  let shown;

  function show(audience) {
    const text = JSON.stringify(audience);
    if (text === shown && element.textContent) return;
    shown = text;
    clearTimeout(timer);
    question.abort();
    fill(element, t(audience === undefined ? 'audience.notYet' : 'audience.counting'));
    if (audience !== undefined) timer = setTimeout(() => ask(audience), PAUSE);
  }

  async function ask(audience) {
    question = new AbortController();
    const own = AbortSignal.any([question.signal, signal]);
    try {
      const { devices, isEstimate } = await askIfThere('countAudience', { audience: audience ?? 'all' }, own);
      const key = isEstimate ? 'audience.aboutDevices' : 'audience.devices';
      if (!own.aborted) fill(element, t(key, { n: devices, count: number(devices) }));
    } catch {
      // The server reports an invalid condition when it is saved.
      if (!own.aborted) fill(element, t('audience.noCount'));
    }
  }

  signal.addEventListener('abort', () => {
    clearTimeout(timer);
    question.abort();
  });
  return { element, show };
}
