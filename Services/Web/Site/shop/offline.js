// Registers the worker that shows a page of the shop without a network.

async function register() {
  if (!('serviceWorker' in navigator)) return;
  const url = new URL('worker.js', import.meta.url).href;
  try {
    // The page's only policy for trusted types: it names this file, whatever it is given.
    const policy = globalThis.trustedTypes?.createPolicy('worker', { createScriptURL: () => url });
    await navigator.serviceWorker.register(policy ? policy.createScriptURL('') : url, { scope: '/' });
  } catch {
    // Turned off in this browser, or not a secure address.
  }
}

if (document.readyState === 'complete') register();
else addEventListener('load', register, { once: true });
