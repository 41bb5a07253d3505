// Which rules a validator may have: a rule that would silently admit callers is refused.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { test } from 'node:test';

const { checkValidator, rateLimitOf } = createRequire(import.meta.url)('../../../Services/Cloud/Runtime/rules.js');
const check = (validator) => checkValidator(validator, 'It');
const limit = (more) => ({ rateLimit: { requestTimeWindow: 1000, requestCount: 2, ...more } });

test('every rule of Parse Server is taken', () => {
  check(undefined);
  check(() => true);
  check({});
  check({
    requireUser: true, requireMaster: false, validateMasterKey: true, skipWithMasterKey: true,
    requireAnyUserRoles: ['a'], requireAllUserRoles: () => ['a'], requireUserKeys: ['email'],
    fields: {
      a: { type: String, required: true, default: undefined, constant: false, options: [1], error: 'no' },
      b: { type: Parse => Parse, options: () => true }, c: { default: null }, d: 'd',
    },
  });
  check({ fields: ['a'], requireUserKeys: { age: { type: Number, required: true, options: 18, error: 'no' } } });
  check(limit({ errorResponseMessage: 'no', requestMethods: 'POST', zone: 'user', includeMasterKey: true }));
  check(limit({ requestMethods: ['GET', 'PUT'], includeInternalRequests: true }));
});

const refused = [
  [{ requiredUser: true }, /unknown rule requiredUser/],
  [{ requireMasterKey: true }, /unknown rule requireMasterKey/],
  [{ constructor: true }, /unknown rule constructor/],
  [Object.create({ requiredUser: true }), /unknown rule requiredUser/],
  [['requireUser'], /must be an object of rules/],
  [{ requireUser: 'true' }, /requireUser must be true or false/],
  [{ requireUser: undefined }, /requireUser must be true or false/],
  [{ requireMaster: null }, /requireMaster must be true or false/],
  [{ requireAnyUserRoles: 'staff' }, /requireAnyUserRoles must be a list/],
  [{ requireAllUserRoles: [undefined] }, /requireAllUserRoles must be a list/],
  [{ requireUserKeys: 'email' }, /requireUserKeys must be a list/],
  [{ requireUserKeys: { email: true } }, /requireUserKeys\.email must be an object/],
  [{ requireUserKeys: { email: { default: 1 } } }, /unknown rule requireUserKeys\.email\.default/],
  [{ fields: 'a' }, /fields must be a list/],
  [{ fields: [1] }, /fields must be a list/],
  [{ fields: { a: String } }, /fields\.a must be an object/],
  [{ fields: { a: null } }, /fields\.a must be an object/],
  [{ fields: { a: { require: true } } }, /unknown rule fields\.a\.require/],
  [{ fields: { a: { option: [1] } } }, /unknown rule fields\.a\.option/],
  [{ fields: { a: { type: undefined } } }, /fields\.a\.type must be a class/],
  [{ fields: { a: { options: undefined } } }, /fields\.a\.options must be given/],
  [{ fields: { a: { required: 1 } } }, /fields\.a\.required must be true or false/],
  [{ rateLimit: true }, /rateLimit must be an object/],
  [{ rateLimit: { requestCount: 1 } }, /lacks the rule rateLimit\.requestTimeWindow/],
  [limit({ requestCount: 0 }), /rateLimit\.requestCount must be/],
  [limit({ requestTimeWindow: '60000' }), /rateLimit\.requestTimeWindow must be/],
  [limit({ requestMethods: ['PATCH'] }), /rateLimit\.requestMethods must be/],
  [limit({ zone: 'device' }), /rateLimit\.zone must be/],
  [limit({ requestPath: '/functions/*' }), /unknown rule rateLimit\.requestPath/],
  [limit({ redisUrl: 'redis://cache' }), /unknown rule rateLimit\.redisUrl/],
];
for (const [validator, message] of refused) {
  test(`a validator is refused: ${message.source}`, () => assert.throws(() => check(validator), message));
}

test('a rate limit has the values of Parse Server where it does not name them', () => {
  assert.equal(rateLimitOf({ requireUser: true }), undefined);
  assert.deepEqual(rateLimitOf(limit({ requestMethods: 'POST' })), {
    window: 1000, count: 2, message: 'Too many requests.', methods: ['POST'], zone: 'ip', includesMaster: false,
    includesInternal: false,
  });
});
