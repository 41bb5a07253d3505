// <satchel-log-in>: log-in by name and password, with a second factor where the account has one.

import { define, h, SatchelElement } from './element.js';
import { entered, formOf } from './form.js';
import { Refused } from './parse.js';

const WRONG = 101;
const CODE_WANTED = 211;

class SatchelLogIn extends SatchelElement {
  connectedCallback() {
    if (!this.shadowRoot.querySelector('form')) this.offer();
  }

  /** Shows the form. */
  offer(name = '', withCode = false) {
    const fields = ['username', 'password', ...(withCode ? ['code'] : [])];
    const more = this.hasAttribute('forgot')
      ? [h('button', { type: 'button', onclick: () => this.#forgot() }, this.text('forgot'))]
      : [];
    this.draw(formOf(this, fields, this.text('logIn'), (values) => this.#send(values), ...more));
    if (name) this.#field('username').value = name;
  }

  #field(name) {
    return this.shadowRoot.querySelector(`[name="${name}"]`);
  }

  async #send({ username, password, code }) {
    try {
      entered(this, await this.client.logIn(username.trim(), password, code));
    } catch (error) {
      if (error.code === WRONG) throw new Refused(WRONG, this.text('wrong'));
      if (error.code !== CODE_WANTED || code) throw error;
      this.offer(username, true);
      this.#field('password').value = password;
      this.#field('code').focus();
      this.announce(this.text('codeWanted'));
    }
  }

  /** The answer is the same whether or not there is such an account. */
  async #forgot() {
    const field = this.#field('username');
    const email = field.value.trim();
    if (!email) return field.focus();
    try {
      await this.client.call('POST', '/requestPasswordReset', { body: { email } });
      this.announce(this.text('mailSent'));
      this.emit('satchel-forgot', { email });
    } catch (error) {
      this.shadowRoot.querySelector('[role="alert"]').textContent = this.failed(error);
    }
    return undefined;
  }
}

define('satchel-log-in', SatchelLogIn);
