/** Terminal escapes and continued lines cut a secret in two for the reader of bytes, not for the reader of the screen. */

// CSI (both introducers), strings (OSC, DCS, SOS, PM, APC) that end on their line, two-byte escapes, backslash-newline.
const csi = String.raw`(?:\x1b\[|\x9b)[0-?]{0,128}[ -\/]{0,16}[@-~]`;
const string = String.raw`(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c\n]{0,4096}(?:\x07|\x1b\\|\x9c)`;
const short = String.raw`\x1b[ -\/]{0,4}[0-OQ-WYZ\\` + '`' + String.raw`-~]`;
const continuation = String.raw`\\\r?\n`;

// oxlint-disable-next-line no-control-regex
const any = /[\x1b\x90\x98\x9b\x9d-\x9f]|\\\r?\n/;

/** Text in which matches are looked for, with the place of each of its characters in the raw text (null: the same). */
export type View = { readonly text: string; readonly places: Uint32Array | null };

export function hasEscapes(raw: string): boolean {
  return any.test(raw);
}

/** `glued`: what a screen shows, escapes taken out. */
export function glued(raw: string): View {
  return rewrite(raw, new RegExp(`${csi}|${string}|${short}|${continuation}`, 'g'), '');
}

/** `split`: each escape is a border, and what a string escape carries (a hyperlink) is text. */
export function split(raw: string): View {
  return rewrite(raw, new RegExp(`${csi}|${short}`, 'g'), '\0');
}

function rewrite(raw: string, escapes: RegExp, border: string): View {
  const parts: string[] = [];
  const places = new Uint32Array(raw.length + 1);
  let length = 0;
  const copy = (from: number, to: number) => {
    parts.push(raw.slice(from, to));
    for (let at = from; at < to; at++) places[length++] = at;
  };
  let from = 0;
  for (const match of raw.matchAll(escapes)) {
    copy(from, match.index);
    if (border !== '') {
      parts.push(border);
      places[length++] = match.index;
    }
    from = match.index + match[0].length;
  }
  copy(from, raw.length);
  places[length] = raw.length;
  return { text: parts.join(''), places: places.subarray(0, length + 1) };
}
