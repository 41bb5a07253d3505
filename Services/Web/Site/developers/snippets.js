// Code that connects an app to this server, for each SDK. The calls follow the SDKs' sources: Parse-Swift 5,
// Parse-SDK-iOS-OSX 3, Parse-SDK-Android 4, Parse-SDK-JS 5, parse-php-sdk 2.

/** Placeholders for keys that the page does not know. Only the key for pages is public. */
const PLACES = {
  rest: 'YOUR_REST_KEY',
  javascript: 'YOUR_JAVASCRIPT_KEY',
  client: 'YOUR_CLIENT_KEY',
  windows: 'YOUR_WINDOWS_KEY',
};

/** The headers of the kinds of keys, starting with the one for programs without an SDK. */
const HEADERS = {
  rest: 'X-Parse-REST-API-Key',
  javascript: 'X-Parse-Javascript-Key',
  client: 'X-Parse-Client-Key',
  windows: 'X-Parse-Windows-Key',
};

/**
 * The snippets in the order of the page.
 * @param app `{ url, applicationId, keyKinds, clientKey }`: the URL with the mount, the kinds of configured keys, and
 *   the key for pages, if any.
 * @returns `{ id, title, install, code, lacks }`; `lacks` is the kind of key that the SDK needs and this server lacks.
 */
export function snippets(app) {
  const url = app.url.replace(/\/+$/, '');
  return Object.entries(FORMS).map(([id, { title, kind, install, code }]) => {
    const kinds = kind ? [kind] : Object.keys(HEADERS);
    const found = kinds.find((name) => app.keyKinds.includes(name));
    const key = found && { kind: found, text: (found === 'javascript' && app.clientKey) || PLACES[found] };
    const lacks = app.keyKinds.length && !found ? kind : null;
    return { id, title, install, code: code({ url, id: app.applicationId, key }), lacks };
  });
}

const lines = (...all) =>
  all
    .flat()
    .filter((line) => line !== null)
    .join('\n');
/** String literals of JavaScript, Python and Swift, whose double quotes work as in JSON. */
const quoted = (text) => JSON.stringify(text);
const kotlin = (text) => JSON.stringify(text).replaceAll('$', '\\$');
const php = (text) => `'${text.replace(/[\\']/g, '\\$&')}'`;
const shell = (text) => `'${text.replaceAll("'", "'\\''")}'`;

const FORMS = {
  swift: {
    title: 'Swift (ParseSwift)',
    kind: 'client',
    install: 'https://github.com/netreconlab/Parse-Swift',
    code: ({ url, id, key }) =>
      lines(
        'import ParseSwift',
        '',
        '// Version 4: the same without try await.',
        'try await ParseSwift.initialize(',
        `    applicationId: ${quoted(id)},`,
        key ? `    clientKey: ${quoted(key.text)},` : null,
        `    serverURL: URL(string: ${quoted(url)})!)`,
        '',
        'struct Product: ParseObject {',
        '    var objectId: String?',
        '    var createdAt: Date?',
        '    var updatedAt: Date?',
        '    var ACL: ParseACL?',
        '    var originalData: Data?',
        '    var name: String?',
        '}',
        '',
        'let products = try await Product.query().limit(5).find()',
        'for product in products { print(product.name ?? "") }',
      ),
  },
  ios: {
    title: 'Swift (Parse iOS SDK)',
    kind: 'client',
    install: 'https://github.com/parse-community/Parse-SDK-iOS-OSX',
    code: ({ url, id, key }) =>
      lines(
        'import ParseCore // up to version 1: import Parse',
        '',
        '// In application(_:didFinishLaunchingWithOptions:)',
        'Parse.initialize(with: ParseClientConfiguration {',
        `    $0.applicationId = ${quoted(id)}`,
        key ? `    $0.clientKey = ${quoted(key.text)}` : null,
        `    $0.server = ${quoted(url)}`,
        '})',
        '',
        'let query = PFQuery(className: "Product")',
        'query.limit = 5',
        'query.findObjectsInBackground { products, error in',
        '    for product in products ?? [] { print(product["name"] ?? "") }',
        '}',
      ),
  },
  android: {
    title: 'Kotlin (Parse Android SDK)',
    kind: 'client',
    install: 'com.github.parse-community.Parse-SDK-Android:parse',
    code: ({ url, id, key }) =>
      lines(
        'import com.parse.Parse',
        'import com.parse.ParseObject',
        'import com.parse.ParseQuery',
        '',
        "// In the application's onCreate()",
        'Parse.initialize(',
        '    Parse.Configuration.Builder(this)',
        `        .applicationId(${kotlin(id)})`,
        key ? `        .clientKey(${kotlin(key.text)})` : null,
        `        .server(${kotlin(`${url}/`)})`,
        '        .build()',
        ')',
        '',
        'val query = ParseQuery.getQuery<ParseObject>("Product")',
        'query.limit = 5',
        'query.findInBackground { products, error ->',
        '    if (error == null) products.forEach { println(it.getString("name")) }',
        '}',
      ),
  },
  javascript: {
    title: 'JavaScript',
    kind: 'javascript',
    install: 'npm install parse',
    code: ({ url, id, key }) =>
      lines(
        "import Parse from 'parse'; // in Node: require('parse/node')",
        '',
        `Parse.initialize(${[id, ...(key ? [key.text] : [])].map(quoted).join(', ')});`,
        `Parse.serverURL = ${quoted(url)};`,
        '',
        "const products = await new Parse.Query('Product').limit(5).find();",
        "for (const product of products) console.log(product.get('name'));",
      ),
  },
  php: {
    title: 'PHP',
    kind: 'rest',
    install: 'composer require parse/php-sdk',
    code: ({ url, id, key }) =>
      lines(
        '<?php',
        "require 'vendor/autoload.php';",
        '',
        'use Parse\\ParseClient;',
        'use Parse\\ParseQuery;',
        '',
        '// The third one is the master key: an app has none.',
        `ParseClient::initialize(${php(id)}, ${key ? php(key.text) : 'null'}, null);`,
        `ParseClient::setServerURL(${php(new URL(url).origin)}, ${php(new URL(url).pathname)});`,
        '',
        "$query = new ParseQuery('Product');",
        '$query->limit(5);',
        'foreach ($query->find() as $product) {',
        "    echo $product->get('name'), PHP_EOL;",
        '}',
      ),
  },
  python: {
    title: 'Python (requests)',
    install: 'pip install requests',
    code: ({ url, id, key }) =>
      lines(
        'import requests',
        '',
        `server = ${quoted(url)}`,
        'headers = {',
        `    "X-Parse-Application-Id": ${quoted(id)},`,
        key ? `    ${quoted(HEADERS[key.kind])}: ${quoted(key.text)},` : null,
        '}',
        '',
        'answer = requests.get(f"{server}/classes/Product", headers=headers, params={"limit": 5}, timeout=30)',
        'answer.raise_for_status()',
        'for product in answer.json()["results"]:',
        '    print(product.get("name"))',
      ),
  },
  curl: {
    title: 'curl',
    install: null,
    code: ({ url, id, key }) =>
      lines(
        `curl -G ${shell(`${url}/classes/Product`)} \\`,
        `  -H ${shell(`X-Parse-Application-Id: ${id}`)} \\`,
        key ? `  -H ${shell(`${HEADERS[key.kind]}: ${key.text}`)} \\` : null,
        '  -d limit=5',
      ),
  },
};
