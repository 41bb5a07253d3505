// Orders as a table for bookkeepers, and the table of parcels that an operator pastes.

import { CSVError, parseCSV, writeCSV } from '../../shared/csv.js';
import { decimalText, moment } from '../../shared/format.js';
import { t } from '../../shared/i18n.js';
import { fieldError } from '../../shared/problems.js';
import { localText } from '../../shared/zone.js';
import { nameOf, stateOf } from './shared.js';

const head = [
  'order',
  'date',
  'state',
  'customer',
  'email',
  'address',
  'zip',
  'city',
  'region',
  'product',
  'quantity',
  'each',
  'sum',
  'discount',
  'total',
  'refunded',
  'currency',
  'charge',
];

/**
 * One row for each line of an order. Amounts are in major units. Those of the whole order are in its first row, so
 * that a column's sum is right.
 */
export function ordersAsCSV(orders) {
  const rows = orders.flatMap((order) => {
    const amount = (minorUnits) => (minorUnits === undefined ? '' : decimalText(minorUnits, order.currency));
    const items = (order.items ?? []).filter((item) => item.__type === 'Object');
    const { address1, address2, zipcode, city, state } = order.shippingAddress ?? {};
    const customer = [
      order.orderNo,
      localText(moment(order.orderDate)).replace('T', ' '),
      stateOf(order),
      nameOf(order),
      order.email,
      [address1, address2].filter(Boolean).join(', '),
      zipcode,
      city,
      state,
    ];
    return (items.length ? items : [{}]).map(({ name, quantity, unitPriceMinorUnits: each, ...item }, index) => [
      ...customer,
      name,
      quantity,
      amount(each),
      amount(each === undefined ? undefined : each * quantity),
      amount(item.discountMinorUnits),
      index ? '' : amount(order.total ?? 0),
      index ? '' : amount(order.refundedTotal ?? 0),
      order.currency,
      order.stripePaymentId,
    ]);
  });
  return writeCSV([head, ...rows]);
}

/**
 * The parcels of orders, as parameters of `shipOrder`. Each line of the text is `number, carrier, tracking number,
 * link`; orders without a line are shipped without tracking.
 * @throws Error that names the first wrong line.
 */
export function readParcels(text, orders) {
  const byNumber = new Map(orders.map((order) => [String(order.orderNo), { orderId: order.objectId }]));
  const seen = new Set();
  for (const { line, cells } of tableOf(text)) {
    const [number, carrier, trackingNumber, trackingUrl] = cells.map((cell) => cell.trim());
    const parcel = byNumber.get(number.replace(/^(№|#|no\.?)\s*/i, ''));
    const wrong = (key) => fieldError('parcels', t(key, { line, number }));
    // A first line without a number names the columns.
    if (!parcel && line === 1 && !/\d/.test(number)) continue;
    if (!parcel) throw wrong('ship.notChosen');
    if (seen.has(parcel) || cells.length > 4) throw wrong('ship.badLine');
    if (trackingUrl && !/^https?:\/\/\S+$/.test(trackingUrl)) throw wrong('ship.badLink');
    seen.add(parcel);
    for (const [name, value] of Object.entries({ carrier, trackingNumber, trackingUrl })) {
      if (value) parcel[name] = value;
    }
  }
  return [...byNumber.values()];
}

function tableOf(text) {
  // Each line has its own separator: a row of a spreadsheet may be pasted between lines with commas.
  return text.split('\n').flatMap((row, index) => {
    const line = index + 1;
    try {
      // People write a blank after a comma.
      return parseCSV(row.replaceAll(/, +"/g, ',"')).map(({ cells }) => ({ line, cells }));
    } catch (error) {
      throw error instanceof CSVError ? fieldError('parcels', t('csv.quotes', { line })) : error;
    }
  });
}
