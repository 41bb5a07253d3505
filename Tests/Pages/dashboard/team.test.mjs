// The team, the operator's own account and the page of an invitation.
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { load, loadView, Storage } from '../pages.mjs';

globalThis.sessionStorage = new Storage();
const { auth, APIError } = await load('api.js');
const { operatorName, roleNames, roleText } = await loadView('team/roles.js');
const { grouped, newSecret } = await loadView('team/factor.js');
const { proven, reason } = await loadView('team/password.js');
const { tokenOf } = await loadView('shell/invitation.js');
const { areas, sees } = await loadView('shell/areas.js');

beforeEach(() => auth.drop());

const answer = (status, body) => {
  globalThis.fetch = async () => new Response(JSON.stringify(body), { status });
};

test('only admins see the team, and every operator the own account', async () => {
  for (const area of ['catalog', 'orders', 'support', 'developers', 'admins']) {
    answer(200, { result: { areas: [area] } });
    await areas.learn();
    assert.ok(sees('own'), area);
    assert.equal(sees('team'), area === 'admins', area);
  }
  areas.forget();
  assert.ok(!sees('own') && !sees('team'));
});

test('a role has its name, and an unknown one shows itself', () => {
  assert.deepEqual(
    roleNames.map(roleText),
    ['catalog', 'orders', 'support', 'developers', 'admins'].map((area) => `role.${area}`),
  );
  assert.equal(roleText('constructor'), 'constructor');
  assert.equal(operatorName({ email: 'a@x.example', username: 'ann' }), 'a@x.example');
  assert.equal(operatorName({ name: 'Ann', email: 'a@x.example', username: 'ann' }), 'Ann');
});

test('a secret has 160 random bits in Base32', () => {
  const secrets = new Set(Array.from({ length: 50 }, newSecret));
  assert.equal(secrets.size, 50);
  for (const secret of secrets) {
    assert.match(secret, /^[A-Z2-7]{32}$/);
    assert.match(grouped(secret), /^([A-Z2-7]{4} ){7}[A-Z2-7]{4}$/);
  }
});

test('only a whole token opens an invitation', () => {
  const token = '0123456789abcdef0123456789abcdef';
  assert.equal(tokenOf(`#${token}`), token);
  for (const hash of ['', '#', token, `#${token}0`, `#${token.slice(1)}`, `#${token.toUpperCase()}`, '#<b>'])
    assert.equal(tokenOf(hash), '');
});

test('a wrong password and a wrong code have words of their own', async () => {
  assert.equal(reason({ code: 101, message: 'Invalid username/password.' }), 'own.wrongPassword');
  assert.match(reason({ code: 101, message: 'Your account is locked.' }), /locked/);
  assert.equal(reason({ code: 141, message: 'Invalid MFA token' }), 'signIn.wrongCode');
  assert.equal(reason({ code: 155, message: '' }), null);
  answer(404, { code: 101, error: 'Invalid username/password.' });
  await assert.rejects(proven('changeOperatorPassword', {}), { message: 'own.wrongPassword', field: 'password' });
  answer(400, { code: 142, error: 'The password must have at least 6 characters.' });
  await assert.rejects(proven('changeOperatorPassword', {}), APIError);
});

test('a session continues with another token, stored only if it was', () => {
  auth.begin('r:1', { objectId: 'u' }, false);
  auth.renew('r:2');
  assert.deepEqual(auth.current, { token: 'r:2', user: { objectId: 'u' } });
  assert.equal(auth.restore(), null);
  auth.begin('r:1', { objectId: 'u' }, true);
  auth.renew('r:2');
  assert.deepEqual(auth.restore(), { token: 'r:2', user: { objectId: 'u' } });
});
