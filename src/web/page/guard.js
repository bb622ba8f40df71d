/**
 * When what decides can be pressed: not while an answer is on its way, and not in the moment after something else was shown.
 * Of two clicks in a row the second one would land on what nobody has read.
 */

/** Longer than a double click takes, shorter than anybody reads. */
const stillMs = 700;

/** `controls()`: buttons and inputs of what is shown now. Nothing else may disable or enable them. */
export function createGuard(controls) {
  let busy = 0;
  let still = null;

  function draw() {
    for (const control of controls())
      control.disabled = busy > 0 || (still !== null && control.localName === 'button');
  }

  return {
    draw,
    /** False while nothing may be decided, by whatever way it was asked for. */
    open: () => busy === 0 && still === null,
    /** Runs `work` with everything disabled. */
    async during(work) {
      busy += 1;
      draw();
      try {
        return await work();
      } finally {
        busy -= 1;
        draw();
      }
    },
    /** Something else is shown now. */
    changed() {
      clearTimeout(still);
      still = setTimeout(() => {
        still = null;
        draw();
      }, stillMs);
      draw();
    },
  };
}
