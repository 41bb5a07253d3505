// Line icons on a grid of 24. They are decoration: a text always carries the meaning.

import { svg } from './dom.js';

const paths = {
  today: 'M4 19V9l8-5 8 5v10M9 19v-6h6v6',
  orders: 'M5 8h14l-1 12H6L5 8Zm4 0V6a3 3 0 0 1 6 0v2',
  products: 'M4 5h7v7H4zM13 5h7v7h-7zM4 14h7v6H4zM13 14h7v6h-7z',
  reviews: 'M5 5h14v11h-7l-4 4v-4H5z',
  customers: 'M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8Zm-8 8c0-3.5 3.5-5.5 8-5.5s8 2 8 5.5',
  analytics: 'M4 20V4M4 20h16M8 16v-4m4 4V8m4 8v-6',
  data: 'M4 7c0-4 16-4 16 0s-16 4-16 0v10c0 4 16 4 16 0V7M4 12c0 4 16 4 16 0',
  promotions: 'M4 10v4h3l7 5V5l-7 5zM17 9a4 4 0 0 1 0 6',
  codes: 'M4 12V5h7l9 9-7 7zM8 9v.5',
  storefront: 'M5 4h14l1 5v1a2 2 0 0 1-4 0 2 2 0 0 1-4 0 2 2 0 0 1-4 0 2 2 0 0 1-4 0V9zM5 12v8h14v-8M10 20v-5h4v5',
  crashes: 'M12 4 2.5 20h19zM12 10v5m0 2v.5',
  operations: 'M4 5h16v6H4zM4 13h16v6H4zM7 8h3M7 16h3',
  team: 'M9 11a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7Zm-6 9c0-3 2.5-5 6-5s6 2 6 5M16 4.5a3.5 3.5 0 0 1 0 6M18 15c2 .7 3 2.5 3 5',
  search: 'M10.5 17a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13Zm5-1.5L20 20',
  plus: 'M12 5v14M5 12h14',
  minus: 'M5 12h14',
  fit: 'M4 9V4h5m6 0h5v5m0 6v5h-5m-6 0H4v-5',
  sun: 'M12 16a4 4 0 1 0 0-8 4 4 0 0 0 0 8ZM12 2v2m0 16v2M2 12h2m16 0h2M5 5l1 1m12 12 1 1m0-14-1 1M6 18l-1 1',
  moon: 'M19 14.5A8 8 0 0 1 9.5 5a8 8 0 1 0 9.5 9.5Z',
  leave: 'M14 4h5v16h-5M4 12h11M11 8l4 4-4 4',
  menu: 'M4 7h16M4 12h16M4 17h16',
  check: 'm5 12.5 4.5 4.5L19 7.5',
  close: 'M6 6l12 12M18 6 6 18',
  edit: 'M4 20h4L19 9l-4-4L4 16v4Z',
  photo: 'M4 6h16v12H4zM8.5 11a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3ZM4 17l5-5 4 4 3-3 4 4',
  star: 'm12 4 2.4 5 5.4.7-4 3.8 1 5.5-4.8-2.700-4.800 2.700 1-5.500-4-3.800 5.400-.7Z',
};

export function icon(name) {
  return svg(
    'svg.icon',
    { viewBox: '0 0 24 24', 'aria-hidden': 'true', focusable: 'false' },
    svg('path', { d: paths[name] }),
  );
}
