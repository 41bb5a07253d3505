'use strict';

/** The codes of the protocol, under the JavaScript SDK's names. */
const CODES = {
  OTHER_CAUSE: -1, INTERNAL_SERVER_ERROR: 1, CONNECTION_FAILED: 100, OBJECT_NOT_FOUND: 101, INVALID_QUERY: 102,
  INVALID_CLASS_NAME: 103, MISSING_OBJECT_ID: 104, INVALID_KEY_NAME: 105, INVALID_POINTER: 106, INVALID_JSON: 107,
  COMMAND_UNAVAILABLE: 108, NOT_INITIALIZED: 109, INCORRECT_TYPE: 111, INVALID_CHANNEL_NAME: 112,
  PUSH_MISCONFIGURED: 115, OBJECT_TOO_LARGE: 116, OPERATION_FORBIDDEN: 119, CACHE_MISS: 120, INVALID_NESTED_KEY: 121,
  INVALID_FILE_NAME: 122, INVALID_ACL: 123, TIMEOUT: 124, INVALID_EMAIL_ADDRESS: 125, MISSING_CONTENT_TYPE: 126,
  MISSING_CONTENT_LENGTH: 127, INVALID_CONTENT_LENGTH: 128, FILE_TOO_LARGE: 129, FILE_SAVE_ERROR: 130,
  DUPLICATE_VALUE: 137, INVALID_ROLE_NAME: 139, EXCEEDED_QUOTA: 140, SCRIPT_FAILED: 141, VALIDATION_ERROR: 142,
  INVALID_IMAGE_DATA: 143, UNSAVED_FILE_ERROR: 151, INVALID_PUSH_TIME_ERROR: 152, FILE_DELETE_ERROR: 153,
  INEFFICIENT_QUERY_ERROR: 154, REQUEST_LIMIT_EXCEEDED: 155, DUPLICATE_REQUEST: 159, INVALID_EVENT_NAME: 160,
  FILE_DELETE_UNNAMED_ERROR: 161, INVALID_VALUE: 162, USERNAME_MISSING: 200, PASSWORD_MISSING: 201,
  USERNAME_TAKEN: 202, EMAIL_TAKEN: 203, EMAIL_MISSING: 204, EMAIL_NOT_FOUND: 205, SESSION_MISSING: 206,
  MUST_CREATE_USER_THROUGH_SIGNUP: 207, ACCOUNT_ALREADY_LINKED: 208, INVALID_SESSION_TOKEN: 209, MFA_ERROR: 210,
  MFA_TOKEN_REQUIRED: 211, LINKED_ID_MISSING: 250, INVALID_LINKED_SESSION: 251, UNSUPPORTED_SERVICE: 252,
  INVALID_SCHEMA_OPERATION: 255, AGGREGATE_ERROR: 600, FILE_READ_ERROR: 601, X_DOMAIN_REQUEST: 602,
};

/** An error with a code of the protocol. Applications use the codes 9000 to 9999. */
class ParseError extends Error {
  constructor(code, message) {
    super(textOf(message));
    Object.defineProperty(this, 'name', { value: 'ParseError', enumerable: false, configurable: true });
    Object.defineProperty(this, 'message', { value: this.message, enumerable: true, writable: true });
    this.code = code;
  }

  toString() {
    return `ParseError: ${this.code} ${this.message}`;
  }

  toJSON() {
    return { message: this.message, code: this.code };
  }
}

Object.assign(ParseError, CODES);

/** Converts any value given as a message to text. */
function textOf(message) {
  if (message === undefined || message === null) return '';
  if (typeof message === 'string') return message;
  if (typeof message !== 'object') return String(message);
  try {
    return message instanceof Error ? message.message : JSON.stringify(message);
  } catch {
    return String(message);
  }
}

module.exports = { ParseError, textOf };
