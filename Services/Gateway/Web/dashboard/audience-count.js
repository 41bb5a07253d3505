// How many devices an audience has now: a line that follows what somebody chooses.

import { fill, h } from '../shared/dom.js';
import { number } from '../shared/format.js';
import { t } from '../shared/i18n.js';
import { askIfThere } from './areas.js';

const PAUSE = 400;

/**
 * A line with the number of devices.
 * @param signal ends with the view.
 * @returns `{ element, show(audience) }`; `show` takes what the server keeps, null for everybody, and undefined for what
 *   is no audience yet. It asks after a short rest, and drops a question when a newer one is there.
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
      // A condition that the server does not take is said when it is saved.
      if (!own.aborted) fill(element, t('audience.noCount'));
    }
  }

  signal.addEventListener('abort', () => {
    clearTimeout(timer);
    question.abort();
  });
  return { element, show };
}
