// Answers that come late, in another order, unreadable or not at all.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { all, lastDialog, settled, textOf, waiting } from '../elements.mjs';
import { load, loadView } from '../pages.mjs';

const { useTexts } = await load('i18n.js');
const { dialog } = await load('elements/dialog.js');
const { render } = await loadView('pages/console.js');
const { codeField } = await loadView('promotions/code-field.js');
const { sendPromotion } = await loadView('promotions/send.js');
const { importProducts } = await loadView('products/files.js');
const { exportMenu } = await loadView('browser/export.js');
const { remove } = await loadView('team/actions.js');

useTexts({ 'data.rows.other': '{count} rows', 'promotion.noSuchCode': 'No such code' }, 'en');
const router = { href: (path) => path };
const { signal } = new AbortController();
const json = (body, status = 200) => new Response(JSON.stringify(body), { status });

/** Requests whose answers the test gives. */
function requests() {
  const asked = [];
  globalThis.fetch = (url, { body } = {}) => {
    const { promise, resolve, reject } = waiting();
    asked.push({ url, body, answer: (...parts) => resolve(json(...parts)), fail: reject });
    return promise;
  };
  return asked;
}

const submit = (form, value) => form.dispatchEvent(Object.assign(new Event('submit'), { submitter: { value } }));

test('the console shows the answer of the last query', async () => {
  const [, , form, place] = await render({ query: { className: 'Product' }, router, signal });
  const asked = requests();
  for (let turn = 0; turn < 3; turn += 1) submit(form, 'count');
  await settled();
  asked[1].answer({ results: [], count: 11 });
  await settled();
  assert.equal(textOf(place), '');
  asked[2].answer({ results: [], count: 22 });
  await settled();
  assert.match(textOf(place), /22 rows/);
  asked[0].answer({ code: 102, error: 'Bad query' }, 400);
  await settled();
  assert.match(textOf(place), /22 rows/);
  assert.ok(!textOf(form).includes('Bad query'));
});

test('the note on a code is about the last one', async () => {
  const asked = requests();
  const element = codeField('OLD', router, signal);
  const input = element.querySelector('input');
  input.value = 'NEW';
  input.dispatchEvent(new Event('change'));
  const answer = (results) => [{ success: { result: { results } } }];
  await settled();
  asked[1].answer(answer([{ discountCode: 'NEW' }]));
  await settled();
  asked[0].answer(answer([]));
  await settled();
  assert.ok(!textOf(element).includes('No such code'));
});

test('a dialog that was left has the result of the work that goes on', async () => {
  const leave = (box) => box.dispatchEvent(Object.assign(new Event('keydown'), { key: 'Escape' }));
  for (const [end, wanted] of [
    ['resolve', 'saved'],
    ['reject', null],
  ]) {
    const work = waiting();
    const result = dialog({ title: 'Oil', isBrief: true, submit: () => work.promise });
    const box = lastDialog();
    submit(box.querySelector('form'));
    leave(box);
    await settled();
    work[end](wanted ?? new Error('It was refused'));
    assert.equal(await result, wanted);
  }
  assert.match(textOf(document.body), /It was refused/);
  const left = dialog({ title: 'Oil', isBrief: true, submit: () => assert.fail() });
  leave(lastDialog());
  assert.equal(await left, null);
});

test('what may have been made or sent is not sent again', async () => {
  for (const lost of [{ code: 124, error: 'Too late' }, null]) {
    const give = (request, own) => (lost ? request.answer(...own) : request.fail(new TypeError('away')));
    let asked = requests();
    importProducts();
    const form = lastDialog().querySelector('form');
    const input = form.elements.file;
    input.files = [{ size: 20, text: async () => 'name,unitPrice\nSoap,1\n' }];
    input.dispatchEvent(new Event('change'));
    await settled();
    asked[0].answer({ results: [] });
    await settled();
    submit(form);
    await settled();
    give(asked[1], [[{ error: lost }]]);
    await settled();
    submit(form);
    await settled();
    assert.equal(asked.length, 2);
    assert.match(textOf(form), /csv\.nothing/);

    asked = requests();
    const sent = sendPromotion({ objectId: 'p1' });
    submit(lastDialog().querySelector('form'));
    await settled();
    const request = asked.find(({ url }) => url.endsWith('/sendPromotion'));
    give(request, [lost, 400]);
    assert.equal(await sent, true);
  }
});

test('an export that fails without JSON says that the server was not reached', async () => {
  useTexts({ 'error.100': 'Not reached' }, 'en');
  globalThis.fetch = async () => new Response('<h1>Bad gateway</h1>', { status: 502 });
  const [button] = all(exportMenu('Product', {}, signal), 'button');
  button.dispatchEvent(new Event('click'));
  await settled();
  assert.match(textOf(document.body), /Not reached/);
});

test('only the refusal to remove the last admin says so', async () => {
  useTexts({ 'error.119': 'Not allowed', 'team.lastAdmin': 'They are the last' }, 'en');
  for (const [error, told] of [
    ['The last admin cannot be removed.', 'They are the last'],
    ['Only members of the role admins may do this.', 'Not allowed'],
  ]) {
    globalThis.fetch = async () => json({ code: 119, error }, 400);
    remove({ objectId: 'u1', email: 'ann@x.example' });
    const form = lastDialog().querySelector('form');
    submit(form);
    await settled();
    assert.ok(textOf(form).includes(told), textOf(form));
  }
});
