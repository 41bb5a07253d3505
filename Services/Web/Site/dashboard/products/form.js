// The values of a product's form.

import { editableMoney } from '../../shared/format.js';
import { reverse } from '../../shared/undo.js';
import { minorOf } from './changes.js';

/** The form's values of a product. A form has the line ends of the protocol. */
export function valuesOf({ name, unitPrice, stock, brand, detail }) {
  return {
    name: name ?? '',
    price: unitPrice === undefined ? '' : editableMoney(minorOf(unitPrice)),
    stock: String(stock ?? ''),
    brand: brand?.objectId ?? '',
    detail: (detail ?? '').replaceAll('\r\n', '\n'),
  };
}

export function typedIn(form) {
  const values = Object.fromEntries(new FormData(form));
  return { ...values, stock: values.stock.trim(), detail: values.detail.replaceAll('\r\n', '\n') };
}

/** Takes a change back. A stock changes by as much as the operator changed it, because pieces may be sold meanwhile. */
export function takenBack(product, change) {
  const isCounted = [product.stock, change.stock].every(Number.isInteger);
  const stock = isCounted ? { stock: { __op: 'Increment', amount: product.stock - change.stock } } : {};
  return { ...reverse(product, change), ...stock };
}
