// The words that rows of the table are written in.
//
// A name that ends in an underscore is the row's own: `f_`, `Item_` and `ann_` become `f_17`, `Item_17` and `ann_17` in
// the seventeenth row, in its code, requests and answers alike.
//
// `<name>` is what an earlier answer of the row had as the member that `keep` names. Every row knows `<ann>` and
// `<ben>`, the ids of two users, `<ann.token>` and `<ben.token>`, and `<peer>`, the URL of a server that answers as
// `peer()` tells it, else `{"success":{}}`. `as` says who asks: `ann`, `ben`, `master`, or a session token.
//
// In answers, `<any id>`, `<any date>`, `<any text>` and `<any>` stand for values of that kind, `...others` lets an
// object have more members, and containing() is a text that has this one in it. Everything else must be equal. Without
// `status`, an answer with a code has the code's, every other one 200.
//
// A row has `name`, `source` (the document that promises it), `code`, `ask` with `status` and `answer`, and may have
// `files` beside main.js, requests `before` that only have to succeed, requests `after` that are repeated until their
// answers are right, and texts that come into the `logs`. `differs` says how the service differs for now.

const request =
  (method) =>
  (path, body, options = {}) => ({ method, path, body, ...options });

export const post = request('POST');
export const put = request('PUT');
export const get = (path, options = {}) => ({ method: 'GET', path, ...options });
export const remove = (path, options = {}) => ({ method: 'DELETE', path, ...options });

/** A find: its conditions go into the URL. */
export const find = (className, where = {}, options = {}) =>
  get(`/classes/${className}?where=${encodeURIComponent(JSON.stringify(where))}${options.more || ''}`, options);

/** A call of a cloud function, of the row's `f_` unless told. */
export const call = (params = {}, options = {}) => post(`/functions/${options.name || 'f_'}`, params, options);

/** An upload of a text. */
export const upload = (name, text, options = {}) => post(`/files/${name}`, text, { type: 'text/plain', ...options });

/** Tells the server at `<peer>` how to answer at a path. */
export const peer = (path, order) => ({ method: 'POST', path, body: order, peer: true });

/** A function `f_` with this body, in today's style. */
export const modern = (body) => `Parse.Cloud.define('f_', async (request) => {\n${body}\n});`;

/** A function `f_` with this body, in hosted Parse's style. */
export const hosted = (body) => `Parse.Cloud.define('f_', function (request, response) {\n${body}\n});`;

/** What a function answers that succeeds. */
export const result = (value) => (value === undefined ? {} : { result: value });

/** What a client hears of an error. */
export const error = (code, text) => ({ code, error: text });

export const containing = (text) => ({ '<containing>': text });
export const others = { '<others>': true };
export const created = { objectId: '<any id>', createdAt: '<any date>' };
export const stored = { objectId: '<any id>', createdAt: '<any date>', updatedAt: '<any date>' };
export const pointer = (className, objectId) => ({ __type: 'Pointer', className, objectId });
export const master = { as: 'master' };

/** Rows of one subject, with the document that they come from unless a row names another. */
export const subject = (name, source, rows) => rows.map((row) => ({ source, ...row, name: `${name}: ${row.name}` }));
