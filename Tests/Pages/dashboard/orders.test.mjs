// An order's timeline: the services' data about mails and notifications, as steps.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { all, textOf } from '../elements.mjs';
import { load, loadView } from '../pages.mjs';

const { mailStep, pushStep, trackingSteps } = await loadView('orders/timeline.js');
const { ordersAsCSV, readParcels } = await loadView('orders/csv.js');
const { matching, townOf } = await loadView('orders/shared.js');
const { packed } = await loadView('orders/parcel.js');
const { pickingList } = await loadView('orders/sheets.js');
const { parseCSV } = await load('csv.js');
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

test('each correction of the tracking has the shipment before and after it', () => {
  const [first, second] = [at('2030-01-01T00:00:00.000Z'), at('2030-01-02T00:00:00.000Z')];
  const order = {
    trackingNumber: 'PP-3',
    trackingCorrections: [
      { carrier: 'Post', trackingNumber: 'PP-1', until: first },
      { trackingNumber: 'PP-2', until: second },
    ],
  };
  assert.deepEqual(
    trackingSteps(order).map(([when, , words]) => [when, words.join('')]),
    [
      [first, 'Post · PP-1 → PP-2'],
      [second, 'PP-2 → PP-3'],
    ],
  );
  assert.deepEqual(trackingSteps({}), []);
});

test('orders become one row for each line, and their totals stand once', () => {
  const item = (name, quantity, unitPriceMinorUnits) => ({ __type: 'Object', name, quantity, unitPriceMinorUnits });
  const order = {
    orderNo: 1000001,
    orderDate: at('2030-01-01T00:00:00.000Z'),
    currency: 'usd',
    total: 1050,
    refundedTotal: 50,
    email: '=cmd@x.example',
    shippingAddress: { firstName: 'Ann', lastName: 'Lee', city: 'Springfield' },
    items: [item('Soap', 2, 350), item('Oil', 1, 350), { __type: 'Pointer', objectId: 'deleted' }],
  };
  const [head, first, second, ...more] = parseCSV(ordersAsCSV([order])).map(({ cells }) => cells);
  assert.equal(more.length, 0);
  const cells = (row) => Object.fromEntries(head.map((name, index) => [name, row[index]]));
  assert.deepEqual(
    ['order', 'customer', 'product', 'quantity', 'each', 'sum', 'total', 'refunded'].map((name) => cells(first)[name]),
    ['1000001', 'Ann Lee', 'Soap', '2', '3.50', '7.00', '10.50', '0.50'],
  );
  assert.deepEqual([cells(second).total, cells(second).sum, cells(second).refunded], ['', '3.50', '']);
  assert.match(ordersAsCSV([order]), /'=cmd@x\.example/);
});

test('a picking list tells products of one name apart', () => {
  const item = (name, id, quantity) => ({ __type: 'Object', name, quantity, product: id && { objectId: id } });
  const list = pickingList([
    { orderNo: 1, items: [item('Soap', 'p2', 2), item('Oil', 'p3', 1), item('Gift', null, 1)] },
    { orderNo: 2, items: [item('Soap', 'p1', 3), item('Oil', 'p3', 4), item('Gift', null, 1)] },
  ]);
  const [body] = all(list, 'tbody');
  assert.deepEqual(
    body.children.map(({ children }) => children.map(textOf)),
    [
      ['Gift', '2', '№ 1, № 2'],
      ['Oil', '5', '№ 1, № 2'],
      ['Soap (p1)', '3', '№ 2'],
      ['Soap (p2)', '2', '№ 1'],
    ],
  );
});

test('a pasted table gives each order its parcel', () => {
  const orders = [
    { objectId: 'a', orderNo: 1000001 },
    { objectId: 'b', orderNo: 1000002 },
    { objectId: 'c', orderNo: 1000003 },
  ];
  const text = 'number\tcarrier\tcode\n№ 1000002\tPost, Inc.\tPP-7\n1000001\t\t\n';
  assert.deepEqual(readParcels(text, orders), [
    { orderId: 'a' },
    { orderId: 'b', carrier: 'Post, Inc.', trackingNumber: 'PP-7' },
    { orderId: 'c' },
  ]);
  assert.deepEqual(readParcels('1000003, "Post, Inc.", PP-8', orders)[2], {
    orderId: 'c',
    carrier: 'Post, Inc.',
    trackingNumber: 'PP-8',
  });
  // A row of a spreadsheet among lines with commas.
  assert.deepEqual(readParcels('1000001, UPS, 1Z\n1000002\tDHL\tJD', orders).slice(0, 2), [
    { orderId: 'a', carrier: 'UPS', trackingNumber: '1Z' },
    { orderId: 'b', carrier: 'DHL', trackingNumber: 'JD' },
  ]);
  for (const wrong of [
    '1000009, Post',
    '1000001, a\n1000001, b',
    '1000001, a, b, c, d',
    '1000001, a, b, dhl.example',
  ]) {
    assert.throws(() => readParcels(wrong, orders), Error);
  }
});

test('a search is a parameter of the function that lists orders', () => {
  assert.deepEqual(matching(' Ann  Lee '), { search: 'Ann  Lee' });
  assert.deepEqual(matching('No. 1000001'), { search: '1000001' });
  assert.deepEqual(matching('№ 1000001'), { search: '№ 1000001' });
  assert.deepEqual(matching('Nora'), { search: 'Nora' });
  assert.deepEqual([matching('  '), matching(undefined)], [{}, {}]);
  assert.equal(matching('x'.repeat(100)).search.length, 60);
});

test('a parcel has no pieces that were refunded before it was shipped', () => {
  const item = (objectId, quantity) => ({ __type: 'Object', objectId, quantity });
  const order = { items: [item('a', 3), item('b', 1)], shippedAt: at('2030-01-03T00:00:00.000Z') };
  const refund = (day, lines, state = 'done') => ({ state, lines, createdAt: at(`2030-01-0${day}T00:00:00.000Z`) });
  const refunds = [
    refund(1, [{ itemId: 'a', quantity: 1 }]),
    refund(2, [{ itemId: 'b', quantity: 1 }]),
    refund(2, [{ itemId: 'a', quantity: 1 }], 'failed'),
    refund(4, [{ itemId: 'a', quantity: 2 }]),
  ];
  assert.deepEqual(packed(order, refunds).items, [item('a', 2)]);
  assert.deepEqual(packed({ items: order.items }, [refunds[3]]).items, [item('a', 1), item('b', 1)]);
  assert.deepEqual(packed(order, []).items, order.items);
});

test('a parcel has no pieces that a refund returned to stock before it failed', () => {
  const order = { items: [{ __type: 'Object', objectId: 'a', quantity: 3 }] };
  const createdAt = at('2030-01-01T00:00:00.000Z');
  const lines = [{ itemId: 'a', quantity: 1 }];
  const failed = { refundId: 'rf_1', state: 'failed', inStock: true, lines, createdAt };
  const retry = { refundId: 'rf_2', state: 'done', retryOf: 'rf_1', lines, createdAt };
  const quantities = (...refunds) => packed(order, refunds).items.map(({ quantity }) => quantity);
  assert.deepEqual(quantities(failed), [2]);
  assert.deepEqual(quantities(failed, retry), [2]);
  // By hand, which is no retry.
  assert.deepEqual(quantities(failed, { ...retry, retryOf: undefined }), [2]);
  const other = { refundId: 'rf_3', state: 'done', restock: true, lines, createdAt };
  assert.deepEqual(quantities(failed, other), [1]);
  assert.deepEqual(quantities(failed, other, retry), [1]);
  assert.deepEqual(quantities({ ...failed, lines: [{ itemId: 'a', quantity: 2 }] }, retry), [1]);
  assert.deepEqual(quantities({ ...failed, lines: [] }), []);
});

test('the last line of an address is as its country writes it', () => {
  assert.equal(townOf({ city: 'Austin', state: 'TX', zipcode: '73301' }), 'Austin, TX 73301');
  assert.equal(townOf({ city: 'Berlin', zipcode: '10115' }), '10115 Berlin');
  assert.equal(townOf({ city: 'Bern', state: 'Bern', zipcode: '3000' }), '3000 Bern Bern');
});
