// <satchel-sign-up>: a new account, by the reference app's rules: the user name is the e-mail.

import { define, SatchelElement } from './element.js';
import { entered, formOf } from './form.js';

class SatchelSignUp extends SatchelElement {
  connectedCallback() {
    if (!this.shadowRoot.querySelector('form')) this.offer();
  }

  /** Shows the form. */
  offer() {
    const fields = ['firstName', 'lastName', 'email', 'newPassword'];
    this.draw(formOf(this, fields, this.text('signUp'), (values) => this.#send(values)));
  }

  async #send({ firstName, lastName, email, newPassword }) {
    const address = email.trim();
    const fields = { firstName: firstName.trim(), lastName: lastName.trim(), username: address, email: address };
    const { user, sessionToken } = await this.client.signUp({ ...fields, password: newPassword });
    entered(this, { user: { ...fields, ...user }, sessionToken });
  }
}

define('satchel-sign-up', SatchelSignUp);
