// An order's timeline: the services' data about mails and notifications, as steps.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadView } from './pages.mjs';

const { mailStep, pushStep } = await loadView('orders/timeline.js');
const at = (iso) => ({ __type: 'Date', iso });

test('a mail stands where it was sent, and one that was not where it was asked for', () => {
  const [queuedAt, sentAt] = [at('2030-01-01T00:00:00.000Z'), at('2030-01-01T00:00:05.000Z')];
  const sent = mailStep({ template: 'order-shipped', state: 'sent', to: 'a…@x.example', queuedAt, sentAt });
  assert.deepEqual([sent[0], sent[2], sent[3]], [sentAt, 'a…@x.example', 'told']);
  const bounced = mailStep({ template: 'x', state: 'bounced', to: 'a…@x.example', queuedAt, problem: '550 no' });
  assert.deepEqual([bounced[0], bounced[2], bounced[3]], [queuedAt, 'a…@x.example · bounced · 550 no', 'told.bad']);
  assert.equal(mailStep({ template: 'x', state: 'queued', to: 'b', queuedAt })[3], 'told');
});

test('a notification whose devices are not known says nothing of them', () => {
  const madeAt = at('2030-01-01T00:00:00.000Z');
  assert.deepEqual(pushStep({ news: 'made', madeAt })[2], null);
  assert.notEqual(pushStep({ news: 'made', madeAt, devices: 0 })[2], null);
});
