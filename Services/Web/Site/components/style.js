// The style of all elements. A page changes it with custom properties; `light-dark` follows the page's color-scheme.

const CSS = `
:host {
  --ink: var(--satchel-ink, light-dark(#1d1b18, #f1ede7)); --soft: var(--satchel-soft, light-dark(#5f5850, #b8afa3));
  --card: var(--satchel-card, light-dark(#ffffff, #211e1b)); --line: var(--satchel-line, light-dark(#ddd6cc, #3b3631));
  --edge: var(--satchel-edge, light-dark(#857c70, #8b8175)); --bad: var(--satchel-bad, light-dark(#a3241a, #ff9a8f));
  --accent: var(--satchel-accent, light-dark(#8a3b52, #e79ab3));
  --on-accent: var(--satchel-on-accent, light-dark(#ffffff, #2b0f18));
  --radius: var(--satchel-radius, .5rem);
  display: block; color: var(--ink); font: inherit; text-align: start;
}
:host([hidden]), [hidden] { display: none !important; }
*, ::before, ::after { box-sizing: border-box; }
ul, p, h3 { margin: 0; padding: 0; list-style: none; }
button, input { font: inherit; color: inherit; }
button {
  min-height: 2.75rem; padding: .375rem .875rem; border: 1px solid var(--edge); border-radius: var(--radius);
  background: var(--card); cursor: pointer; max-width: 100%; overflow-wrap: anywhere;
}
button.primary { border-color: var(--accent); background: var(--accent); color: var(--on-accent); }
button.bad { color: var(--bad); border-color: currentcolor; }
button[aria-disabled="true"] { opacity: .4; cursor: default; }
input:not([type="checkbox"], [type="radio"]) {
  width: 100%; min-height: 2.75rem; padding: .375rem .75rem; border: 1px solid var(--edge); border-radius: var(--radius);
  background: var(--card); font-size: max(1rem, 16px);
}
input::placeholder { color: var(--soft); opacity: 1; }
input[type="checkbox"], input[type="radio"] { flex: none; width: 1.5rem; height: 1.5rem; accent-color: var(--accent); }
[aria-invalid="true"] { border-color: var(--bad) !important; }
:focus-visible { outline: 3px solid var(--satchel-ring, light-dark(#1d5fa8, #8ec1ff)); outline-offset: 1px; }
.unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.soft { color: var(--soft); }
.problem { color: var(--bad); }
form { display: grid; gap: .875rem; max-width: 26rem; }
.field { display: grid; gap: .25rem; }
.tools { display: flex; flex-wrap: wrap; gap: .5rem; align-items: center; padding-block: .25rem .5rem; }
.tools:empty { display: none; }
.tools form, .tools input:not([type="checkbox"]) { flex: 1 1 10rem; max-width: none; padding-block: 0; }
.tools input { width: auto; padding-block: .375rem !important; }
.grow { flex: 1; min-width: 0; overflow-wrap: anywhere; }
.box { position: relative; min-width: 0; background: var(--card); border: 1px solid var(--line); border-radius: var(--radius); }
:host([scrolls]) .box { overflow: auto; overscroll-behavior: contain; max-height: var(--satchel-height, 24rem); }
.index { display: flex; flex-wrap: wrap; padding-block-end: .5rem; }
.index button { min-width: 2.25rem; min-height: 2.25rem; padding: 0; border: 0; background: none; color: var(--accent); font-weight: 600; }
.section { position: sticky; top: 0; z-index: 1; padding: .25rem .875rem; background: var(--card); border-bottom: 1px solid var(--line); color: var(--soft); font-weight: 700; }
.row { border-bottom: 1px solid var(--line); }
.content { display: flex; align-items: center; gap: .75rem; min-height: 3.5rem; padding: .5rem .875rem; color: inherit; text-decoration: none; }
.content satchel-image { flex: none; width: 3rem; }
.content strong, .content .text { display: block; font-weight: 600; }
.content .text { font-weight: 400; color: var(--soft); }
a.content strong { text-decoration: underline; text-underline-offset: .2em; text-decoration-thickness: .06em; }
.price { font-variant-numeric: tabular-nums; white-space: nowrap; }
.edits { flex-wrap: wrap; }
.edits .grow { flex: 1 1 6rem; }
.row :focus-visible { outline-offset: -3px; }
.swipes { display: flex; align-items: center; overflow-x: auto; scroll-snap-type: x mandatory; scrollbar-width: none; }
.swipes .content { flex: 1 1 auto; min-width: 0; scroll-snap-align: start; }
.actions { flex: none; display: flex; gap: .25rem; padding-inline: .5rem; scroll-snap-align: end; }
.handle { flex: none; padding: .5rem; cursor: grab; touch-action: none; color: var(--soft); user-select: none; }
.row.lifted { outline: 2px dashed var(--accent); outline-offset: -3px; }
.state { display: flex; flex-wrap: wrap; gap: .75rem; align-items: center; justify-content: center; min-height: 3.5rem; padding: .5rem .875rem; }
.spinner { width: 1.25rem; height: 1.25rem; border: 3px solid var(--line); border-top-color: var(--accent); border-radius: 50%; animation: turn 1s linear infinite; }
.pull { display: grid; place-items: center; height: 0; overflow: hidden; color: var(--soft); }
.picture { position: relative; display: block; overflow: hidden; aspect-ratio: var(--satchel-ratio, 1); border-radius: var(--radius); background: var(--line); }
.picture img { display: block; width: 100%; height: 100%; object-fit: cover; opacity: 0; transition: opacity .2s; }
.picture img.there { opacity: 1; }
.picture progress { position: absolute; inset: auto 8% 8%; width: 84%; }
.mark { position: absolute; inset: 0; display: grid; place-items: center; color: var(--soft); }
progress { accent-color: var(--accent); height: .5rem; }
@keyframes turn { to { transform: rotate(1turn); } }
@media (hover: none), (width < 40rem) {
  /* The edge of the actions is in sight. */
  .swipes .content { flex: 0 0 calc(100% - 1.5rem); }
}
@media (prefers-reduced-motion: reduce) {
  *, ::before, ::after { animation: none !important; transition: none !important; scroll-behavior: auto !important; }
}
`;

let made = null;

/** One sheet for all elements: a constructed one, which a policy without `unsafe-inline` allows. */
export function sheet() {
  if (!made) {
    made = new CSSStyleSheet();
    made.replaceSync(CSS);
  }
  return made;
}
