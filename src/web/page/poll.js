/** Asking again and again while a view is looked at: the next question waits for the answer to the last one. */
export function createPoll(ask, everyMs) {
  let timer = null;
  let over = false;
  const later = () => {
    if (!over) timer = setTimeout(() => void ask().then(later, later), everyMs);
  };
  return {
    start: later,
    stop() {
      over = true;
      clearTimeout(timer);
    },
  };
}
