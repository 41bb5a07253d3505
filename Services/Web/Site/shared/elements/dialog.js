// Modal dialogs: the browser's dialog element, which traps the focus and restores it.

import { fill, freshId, h } from '../dom.js';
import { icon } from '../icons.js';
import { t } from '../i18n.js';
import { problemLine } from '../problems.js';
import { guardWork } from '../unsaved.js';
import { attend, mayLose } from './form.js';
import { failure } from './toast.js';

/**
 * Asks for values and submits them.
 * @param options `{ title, text, fields, content, confirm, cancel, isDanger, isWide, isBrief, isChanged(),
 *   submit(values, form) }`; fields are options of `field`. When `submit` throws, the dialog stays open and shows the
 *   error. Closing a dialog with changed fields, or with work that `isChanged` reports, asks first unless it `isBrief`.
 * @returns the result of `submit`, or null when the dialog was dismissed. The work of `submit` goes on when its dialog is
 *   dismissed, and then its result counts.
 */
export function dialog(options) {
  return new Promise((resolve) => {
    const title = freshId('title');
    const problem = problemLine();
    const send = h(
      `button.${options.isDanger ? 'danger' : 'primary'}`,
      { type: 'submit' },
      options.confirm ?? t('action.save'),
    );
    const fields = (options.fields ?? []).map(field);
    const form = h(
      'form',
      {},
      h(
        'header',
        h('h2', { id: title }, options.title),
        h(
          'button.quiet.square',
          { type: 'button', 'aria-label': t('action.close'), onclick: () => leave() },
          icon('close'),
        ),
      ),
      h('div.content', options.text ? h('p', options.text) : null, options.content ?? null, fields, problem.element),
      h(
        'footer',
        h('button.quiet', { type: 'button', onclick: () => leave() }, options.cancel ?? t('action.cancel')),
        send,
      ),
    );
    const box = h(options.isWide ? 'dialog.wide' : 'dialog', { 'aria-labelledby': title }, form);
    let answer = null;
    let working = null;

    function close(value) {
      answer = value;
      box.close();
    }
    async function leave() {
      if (options.isBrief || (await mayLose([form, box]))) close(null);
    }
    box.addEventListener('close', () => {
      box.remove();
      resolve(working?.catch(failed) ?? answer);
    });
    // Browsers close a dialog at the second Escape whatever the page says to `cancel`.
    box.addEventListener('keydown', (event) => {
      if (event.key !== 'Escape' || event.defaultPrevented) return;
      event.preventDefault();
      leave();
    });
    box.addEventListener('cancel', (event) => {
      if (event.target !== box) return;
      event.preventDefault();
      leave();
    });
    /** The dialog that would show the error was left. */
    function failed(error) {
      failure(error);
      return null;
    }
    const work = async () => (await options.submit(Object.fromEntries(new FormData(form)), form)) ?? true;
    async function submit() {
      working = work();
      try {
        close(await working);
      } finally {
        working = null;
      }
    }
    attend(form, { problem, send, submit });
    if (options.isChanged) guardWork(box, options.isChanged);
    document.body.append(box);
    box.showModal();
    // The browser would focus the button that closes the dialog.
    const isField = ({ localName, type }) => ['input', 'select', 'textarea'].includes(localName) && type !== 'hidden';
    [...form.elements].find(isField)?.focus();
  });
}

/** A label with its control and its hint. `suggestions` are texts that a text field offers. */
export function field(options) {
  const id = freshId('field');
  const hint = options.hint ? freshId('hint') : null;
  const list = options.suggestions ? freshId('list') : null;
  const common = {
    id,
    list,
    name: options.name,
    required: options.required,
    'aria-describedby': hint,
    maxlength: options.maxlength,
    autocomplete: options.autocomplete ?? 'off',
    inputmode: options.inputmode,
    min: options.min,
    max: options.max,
    accept: options.accept,
    placeholder: options.placeholder,
    onchange: options.onchange,
    oninput: options.oninput,
  };
  if (options.type === 'checkbox') {
    return h(
      'label.check',
      h('input', { ...common, type: 'checkbox', checked: options.checked }),
      h('span', options.label),
    );
  }
  return h(
    'div.field',
    h('label', { for: id }, options.label, options.required ? null : h('span.optional', ` ${t('field.optional')}`)),
    control(options, common),
    list ? suggest(h('datalist', { id: list }), options.suggestions) : null,
    hint ? h('p.hint', { id: hint }, options.hint) : null,
  );
}

/** Replaces the suggestions of a text field by others. */
export function suggest(list, texts) {
  return fill(
    list,
    texts.map((value) => h('option', { value })),
  );
}

function control(options, common) {
  if (options.type === 'select') {
    return h(
      'select',
      common,
      options.options.map(([value, text]) => h('option', { value, selected: value === options.value }, text)),
    );
  }
  if (options.type === 'textarea')
    return h('textarea', { ...common, rows: options.rows ?? 3, value: options.value ?? '' });
  return h('input', {
    ...common,
    type: options.type ?? 'text',
    value: options.type === 'file' ? undefined : (options.value ?? ''),
  });
}
