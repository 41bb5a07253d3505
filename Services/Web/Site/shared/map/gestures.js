// Gestures of fingers, mouse and wheel on a map: one pointer moves it, two also zoom, and a press without movement
// chooses.

/** Pixels that a press may move. */
const STILL = 6;
const WHEEL = 200;

export class Gestures {
  #element;
  #does;
  #pointers = new Map();
  #travelled = 0;

  /** @param does `{ pan(right, down), zoom(steps, point), press(point) }`, in pixels of the element. */
  constructor(element, does) {
    this.#element = element;
    this.#does = does;
    for (const [name, listener] of Object.entries({
      pointerdown: this.#down,
      pointermove: this.#move,
      pointerup: this.#up,
      pointercancel: this.#up,
      wheel: this.#wheel,
    }))
      element.addEventListener(name, listener, { passive: false });
  }

  #place(event) {
    const box = this.#element.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  }

  #down = (event) => {
    if (event.button) return;
    if (!this.#pointers.size) this.#travelled = 0;
    this.#element.setPointerCapture(event.pointerId);
    this.#pointers.set(event.pointerId, this.#place(event));
  };

  #move = (event) => {
    const before = this.#pointers.get(event.pointerId);
    if (!before) return;
    const at = this.#place(event);
    this.#travelled += Math.hypot(at.x - before.x, at.y - before.y);
    this.#pointers.set(event.pointerId, at);
    if (this.#travelled < STILL) return;
    const other = [...this.#pointers].find(([id]) => id !== event.pointerId)?.[1];
    if (!other) return this.#does.pan(before.x - at.x, before.y - at.y);
    const share = Math.hypot(at.x - other.x, at.y - other.y) / Math.hypot(before.x - other.x, before.y - other.y);
    if (share > 0 && Number.isFinite(share)) this.#does.zoom(Math.log2(share), other);
  };

  #up = (event) => {
    if (!this.#pointers.delete(event.pointerId) || event.type === 'pointercancel') return;
    if (!this.#pointers.size && this.#travelled < STILL) this.#does.press(this.#place(event));
  };

  #wheel = (event) => {
    // Without Control the wheel scrolls the page.
    if (!event.ctrlKey) return;
    event.preventDefault();
    this.#does.zoom(-event.deltaY / WHEEL, this.#place(event));
  };
}
