/** A list whose rows stay the same elements as long as they are there: nothing is taken away under a finger. */
import { h } from './dom.js';

/** `make(item)` gives `{ element, update(item) }`; an item's `id` says which one it is. */
export function createKeyed(attributes, make) {
  const list = h('ul', attributes);
  const rows = new Map();
  return {
    element: list,
    update(items) {
      const wanted = new Set(items.map(({ id }) => id));
      for (const [id, { row }] of rows)
        if (!wanted.has(id)) {
          row.element.remove();
          rows.delete(id);
        }
      let at = list.firstChild;
      for (const item of items) {
        const content = JSON.stringify(item);
        const known = rows.get(item.id);
        if (known === undefined) rows.set(item.id, { row: make(item), content });
        else if (known.content !== content) {
          known.row.update(item);
          known.content = content;
        }
        const { element } = rows.get(item.id).row;
        if (element === at) at = at.nextSibling;
        else list.insertBefore(element, at);
      }
    },
  };
}
