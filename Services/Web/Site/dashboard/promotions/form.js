// The editor of a promotion: text, picture, code, audience and time, with a preview on a phone.

import { h } from '../../shared/dom.js';
import { field } from '../../shared/elements/dialog.js';
import { moment } from '../../shared/format.js';
import { t } from '../../shared/i18n.js';
import { fieldError } from '../../shared/problems.js';
import { server } from '../../shared/settings.js';
import { isUnsaved } from '../../shared/unsaved.js';
import { fromLocal, localText } from '../../shared/zone.js';
import { photoField } from '../forms/photo-field.js';
import { readAudience, writeAudience } from './audience.js';
import { audienceCount } from './audience-count.js';
import { codeField } from './code-field.js';
import { phonePreview } from './preview.js';
import { readShown, shownFields } from './shown.js';

const REMOVED = { __op: 'Delete' };
const CONTENT_MAX = 2000;

/**
 * @param save `{ problem }`, called with the form and a function that reads the promotion's new fields from it.
 * @param view `{ router, signal }` of the view.
 * @returns `{ element, isChanged() }`.
 */
export function promotionForm(promotion, save, { router, signal }) {
  const preview = phonePreview();
  let url = null;
  const count = audienceCount(signal);
  const draw = () => {
    preview.show({ content: form?.content.value ?? '', code: form?.discountCode.value ?? '', url });
    if (form) count.show(chosen(values()));
  };
  let form = null;
  const photo = photoField(promotion.image?.url, '', (shown) => {
    url = shown;
    draw();
  });
  const audience = audienceFields(readAudience(promotion.audience));
  const values = () => Object.fromEntries([...new FormData(form)].filter(([, value]) => typeof value === 'string'));
  form = h(
    'form.columns',
    { oninput: draw },
    h(
      'div.stack',
      h(
        'section.card.stack',
        field({
          name: 'content',
          label: t('promotion.content'),
          type: 'textarea',
          rows: 4,
          required: true,
          maxlength: CONTENT_MAX,
          hint: t('promotion.contentHint'),
          value: promotion.content,
        }),
        photo.element,
        h(
          'div.pair',
          codeField(promotion.discountCode, router, signal),
          field({
            name: 'schedule',
            label: t('promotion.schedule'),
            type: 'datetime-local',
            hint: t('promotion.scheduleHint', { zone: server.timeZone }),
            value: localText(moment(promotion.schedule)),
          }),
        ),
      ),
      h('section.card.stack', h('h2', t('promotion.home')), shownFields(promotion)),
      h('section.card.stack', h('h2', t('promotion.audience')), audience, count.element),
      save.problem.element,
      h('div.actions', h('button.primary', { type: 'submit' }, t('action.save'))),
    ),
    h('div.stack', h('section.card', h('header', h('h2', t('promotion.preview'))), preview.element)),
  );
  draw();

  save(form, async () => {
    const wanted = wantedOf(promotion, values());
    for (const [name, value] of Object.entries(await readShown(promotion, values()))) {
      Object.assign(wanted, optional(promotion, name, value));
    }
    const image = await photo.value();
    if (image !== undefined) wanted.image = image ?? REMOVED;
    return wanted;
  });
  return { element: form, isChanged: () => isUnsaved(form) };
}

function wantedOf(promotion, values) {
  const content = values.content.trim().replaceAll('\r\n', '\n');
  if (!content) throw fieldError('content', t('promotion.noContent'));
  const at = values.schedule ? fromLocal(values.schedule, moment(promotion.schedule)) : null;
  return {
    content,
    ...optional(promotion, 'discountCode', values.discountCode.trim()),
    ...optional(promotion, 'schedule', at && { __type: 'Date', iso: at.toISOString() }),
    ...optional(promotion, 'audience', audienceOf(values)),
  };
}

/** The change of a member that may be missing. */
function optional(promotion, name, value) {
  return value ? { [name]: value } : promotion[name] === undefined ? {} : { [name]: REMOVED };
}

function audienceOf(values) {
  try {
    return writeAudience(values);
  } catch (error) {
    const field = error.key?.includes('hannel') ? 'channels' : 'more';
    throw error.key ? fieldError(field, t(error.key, error.values)) : error;
  }
}

/** The audience in the form; undefined while it is invalid. */
function chosen(values) {
  try {
    return writeAudience(values);
  } catch {
    return undefined;
  }
}

function audienceFields(values) {
  const parts = {
    channels: [
      field({
        name: 'channels',
        label: t('audience.channels'),
        maxlength: 500,
        hint: t('audience.channelsHint'),
        value: values.channels,
      }),
    ],
    some: [
      field({
        name: 'platform',
        label: t('audience.platform'),
        type: 'select',
        value: values.platform,
        options: [
          ['', t('audience.anyPlatform')],
          ['ios', 'iOS'],
          ['android', 'Android'],
        ],
      }),
      h(
        'div.pair',
        field({
          name: 'language',
          label: t('audience.language'),
          maxlength: 3,
          hint: t('audience.languageHint'),
          value: values.language,
        }),
        field({ name: 'version', label: t('audience.version'), maxlength: 40, value: values.version }),
      ),
      field({
        name: 'more',
        label: t('audience.more'),
        type: 'textarea',
        rows: 3,
        maxlength: 8000,
        hint: t('audience.moreHint'),
        value: values.more,
      }),
    ],
  };
  const groups = Object.entries(parts).map(([kind, fields]) => [kind, h('div.stack', fields)]);
  const choose = (kind) => {
    for (const [name, group] of groups) group.hidden = name !== kind;
  };
  choose(values.kind);
  return [
    field({
      name: 'kind',
      label: t('audience.kind'),
      type: 'select',
      required: true,
      value: values.kind,
      options: ['all', 'channels', 'some'].map((kind) => [kind, t(`audience.${kind}`)]),
      onchange: (event) => choose(event.target.value),
    }),
    groups.map(([, group]) => group),
  ];
}
