// What scripts add to the pages of brands, products and stores. Each page works without them.

import './browsing/search.js';
import './browsing/more.js';
import './browsing/zoom.js';
import './browsing/share.js';
import './browsing/copy.js';
import './browsing/recent.js';
import './browsing/near.js';
import './live.js';
import './map.js';
import './offline.js';
