// <shop-card>: Stripe's card form in the form of the checkout. The card goes to Stripe alone; the shop gets the id of a
// payment method. <shop-action>: the bank's page, where the shopper confirms a payment.

const SCRIPT = 'https://js.stripe.com/';

/** Stripe's script, which the page loads after its modules. */
export function stripe({ key, language }, { scope = globalThis, page = document } = {}) {
  return new Promise((resolve, reject) => {
    const begin = () => {
      try {
        resolve(scope.Stripe(key, { locale: language }));
      } catch (error) {
        reject(error);
      }
    };
    if (scope.Stripe) return begin();
    const script = page.querySelector(`script[src^="${SCRIPT}"]`);
    script.addEventListener('load', begin, { once: true });
    script.addEventListener('error', () => reject(new Error(SCRIPT)), { once: true });
  });
}

/** The id of a payment method of what was typed. Throws an error with a text for the shopper. */
export async function paymentMethod(service, elements) {
  const checked = await elements.submit();
  if (checked.error) throw checked.error;
  const made = await service.createPaymentMethod({ elements });
  if (made.error) throw made.error;
  return made.paymentMethod.id;
}

const Base = globalThis.HTMLElement ?? Object;

class Card extends Base {
  async connectedCallback() {
    const form = this.closest('form');
    const problem = this.querySelector('[role="alert"]');
    const field = this.querySelector('[name="card"]');
    const show = (text) => {
      problem.textContent = text ?? '';
      problem.hidden = !text;
    };
    let service;
    let elements;
    form.addEventListener('submit', async (event) => {
      event.preventDefault();
      if (form.dataset.sent) return;
      show(null);
      try {
        if (!elements) throw new Error(SCRIPT);
        field.value = await paymentMethod(service, elements);
        form.submit();
      } catch (error) {
        show(error.type ? error.message : problem.dataset.away);
        delete form.dataset.sent;
      }
    });
    try {
      service = await stripe(this.dataset);
      elements = service.elements({
        mode: 'payment',
        amount: Number(this.dataset.amount),
        currency: this.dataset.currency,
        paymentMethodTypes: ['card'],
        paymentMethodCreation: 'manual',
        appearance: { theme: matchMedia('(prefers-color-scheme: dark)').matches ? 'night' : 'stripe' },
      });
      elements.create('payment').mount(this.querySelector('div'));
    } catch {
      show(problem.dataset.away);
    }
  }
}

class Action extends Base {
  connectedCallback() {
    const button = this.querySelector('button');
    const problem = this.querySelector('[role="alert"]');
    const { secret, next, starts } = this.dataset;
    const open = async () => {
      button.disabled = true;
      problem.hidden = true;
      try {
        const service = await stripe(this.dataset);
        // The shop asks Stripe itself, whatever the result is.
        await service.handleNextAction({ clientSecret: secret });
        location.replace(next);
      } catch {
        problem.hidden = false;
        // Without Stripe's script only a new page helps.
        button.disabled = !globalThis.Stripe;
      }
    };
    button.hidden = false;
    button.addEventListener('click', open);
    if (starts === 'true') open();
  }
}

globalThis.customElements?.define('shop-card', Card);
globalThis.customElements?.define('shop-action', Action);
