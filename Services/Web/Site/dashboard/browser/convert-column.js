// Converts a column to another type: first a preview of the effect on the rows, then the conversion.

import { hasTarget } from '../../shared/browser/schema.js';
import { h } from '../../shared/dom.js';
import { dialog, field } from '../../shared/elements/dialog.js';
import { toast } from '../../shared/elements/toast.js';
import { t } from '../../shared/i18n.js';
import { convert } from './schemas.js';

/** The target types of a conversion. */
const types = ['String', 'Number', 'Boolean', 'Date', 'Pointer', 'Array'];

export async function convertColumn(className, name, redraw) {
  const target = field({ name: 'targetClass', label: t('schema.target'), hint: t('schema.targetHint') });
  target.hidden = true;
  const found = await dialog({
    title: t('schema.convertOf', { name }),
    text: t('schema.convertText'),
    confirm: t('schema.preview'),
    content: [
      field({
        name: 'type',
        type: 'select',
        label: t('schema.type'),
        required: true,
        options: types.map((type) => [type, type]),
        onchange: (event) => {
          target.hidden = !hasTarget(event.target.value);
        },
      }),
      target,
    ],
    async submit({ type, targetClass }) {
      const wish = { field: name, type, ...(hasTarget(type) ? { targetClass } : {}) };
      return { wish, report: await convert(className, wish) };
    },
  });
  return found ? apply(className, name, found, redraw) : null;
}

function apply(className, name, { wish, report }, redraw) {
  const { converted, others, examples } = report;
  return dialog({
    title: t('schema.convertOf', { name }),
    text: t('schema.converted', { n: converted, type: wish.type }),
    confirm: t('schema.convert'),
    isDanger: others > 0,
    content: others
      ? [
          h('p.problem', t('schema.others', { n: others, type: wish.type })),
          h(
            'ul',
            examples.map(({ objectId, value }) => h('li', h('code', `${objectId}: ${JSON.stringify(value)}`))),
          ),
          field({ name: 'removeOthers', type: 'checkbox', label: t('schema.removeOthers') }),
        ]
      : null,
    async submit({ removeOthers }) {
      await convert(className, { ...wish, apply: true, removeOthers: removeOthers === 'on' });
      toast(t('schema.columnConverted', { name, type: wish.type }));
      redraw();
    },
  });
}
