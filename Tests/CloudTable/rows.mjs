// The helpers with which rows of the table are written.
//
// A name that ends in an underscore is unique to the row: `f_`, `Item_` and `ann_` become `f_17`, `Item_17` and
// `ann_17` in the seventeenth row, in its code, requests and answers alike.
//
// `<name>` stands for the member of an earlier answer of the row that `keep` names. Every row has `<ann>` and `<ben>`,
// the ids of two users, `<ann.token>` and `<ben.token>`, and `<peer>`, the URL of a server that answers as `peer()`
// configures it, else `{"success":{}}`. `as` selects the caller: `ann`, `ben`, `master`, or a session token.
//
// In answers, `<any id>`, `<any date>`, `<any text>` and `<any>` stand for values of that kind, `...others` permits
// further members of an object, and containing() matches a string that contains this one. Everything else must be
// equal. Without `status`, an answer with a code has that code's status, every other one 200.
//
// A row has `name`, `source` (the document that specifies it), `code`, and `ask` with `status` and `answer`. Optional
// members are `files` next to main.js, requests `before` that must only succeed, requests `after` that are repeated
// until their answers match, and texts that appear in the `logs`. `differs` describes a current deviation of the
// service.

const request =
  (method) =>
  (path, body, options = {}) => ({ method, path, body, ...options });

export const post = request('POST');
export const put = request('PUT');
export const get = (path, options = {}) => ({ method: 'GET', path, ...options });
export const remove = (path, options = {}) => ({ method: 'DELETE', path, ...options });

/** A find whose conditions are in the URL. */
export const find = (className, where = {}, options = {}) =>
  get(`/classes/${className}?where=${encodeURIComponent(JSON.stringify(where))}${options.more || ''}`, options);

/** A call of a cloud function, by default the row's `f_`. */
export const call = (params = {}, options = {}) => post(`/functions/${options.name || 'f_'}`, params, options);

/** An upload of a text. */
export const upload = (name, text, options = {}) => post(`/files/${name}`, text, { type: 'text/plain', ...options });

/** Sets the answer of the server at `<peer>` for a path. */
export const peer = (path, order) => ({ method: 'POST', path, body: order, peer: true });

/** A function `f_` with this body, in modern style. */
export const modern = (body) => `Parse.Cloud.define('f_', async (request) => {\n${body}\n});`;

/** A function `f_` with this body, in hosted Parse's style. */
export const hosted = (body) => `Parse.Cloud.define('f_', function (request, response) {\n${body}\n});`;

/** The answer of a successful function. */
export const result = (value) => (value === undefined ? {} : { result: value });

/** The client's answer for an error. */
export const error = (code, text) => ({ code, error: text });

export const containing = (text) => ({ '<containing>': text });
export const others = { '<others>': true };
export const created = { objectId: '<any id>', createdAt: '<any date>' };
export const stored = { objectId: '<any id>', createdAt: '<any date>', updatedAt: '<any date>' };
export const pointer = (className, objectId) => ({ __type: 'Pointer', className, objectId });
export const master = { as: 'master' };

/** Rows of one subject, with their default source document. */
export const subject = (name, source, rows) => rows.map((row) => ({ source, ...row, name: `${name}: ${row.name}` }));
