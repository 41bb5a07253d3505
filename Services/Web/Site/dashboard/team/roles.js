// The operators' roles by name, with the areas whose texts name them.

import { t } from '../../shared/i18n.js';

const areas = {
  'catalog-editors': 'catalog',
  'order-desk': 'orders',
  support: 'support',
  developers: 'developers',
  admins: 'admins',
};

export const roleNames = Object.keys(areas);

/** The display name of a role; an unknown one is shown itself. */
export function roleText(role) {
  return Object.hasOwn(areas, role) ? t(`role.${areas[role]}`) : role;
}

/** The display name of an operator. */
export function operatorName({ name, email, username }) {
  return name || email || username;
}
