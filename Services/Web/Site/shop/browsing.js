// What scripts add to the pages of brands, products and stores. Each page works without them.

import './search.js';
import './more.js';
import './zoom.js';
import './share.js';
import './copy.js';
import './recent.js';
import './near.js';
import './live.js';
import './map.js';
import './offline.js';
