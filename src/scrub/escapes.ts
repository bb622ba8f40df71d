/** Terminal escapes and continued lines cut a secret in two for the reader of bytes, not for the reader of the screen. */

// CSI (both introducers), strings (OSC, DCS, SOS, PM, APC) that end on their line, two-byte escapes, backslash-newline.
const csi = String.raw`(?:\x1b\[|\x9b)[0-?]{0,128}[ -\/]{0,16}[@-~]`;
const string = String.raw`(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c\n]{0,4096}(?:\x07|\x1b\\|\x9c)`;
const short = String.raw`\x1b[ -\/]{0,4}[0-OQ-WYZ\\` + '`' + String.raw`-~]`;
const continuation = String.raw`\\\r?\n`;

// oxlint-disable-next-line no-control-regex
const c1 = /[\x90\x98\x9b\x9d-\x9f]/;

/** Text in which matches are looked for, and the way from its places to those of the raw text and back. */
export type View = {
  readonly text: string;
  toRaw(at: number): number;
  toText(at: number): number;
};

export function hasEscapes(raw: string): boolean {
  return raw.includes('\u001b') || raw.includes('\\\n') || raw.includes('\\\r\n') || c1.test(raw);
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
  /** Where each piece that was kept begins, in the text and in the raw text; a border is a piece of its own. */
  const inText = [0];
  const inRaw = [0];
  let length = 0;
  let from = 0;
  const piece = (text: string, at: number) => {
    if (text === '') return;
    inText.push(length);
    inRaw.push(at);
    parts.push(text);
    length += text.length;
  };
  for (const match of raw.matchAll(escapes)) {
    piece(raw.slice(from, match.index), from);
    piece(border, match.index);
    from = match.index + match[0].length;
  }
  piece(raw.slice(from), from);
  inText.push(length);
  inRaw.push(raw.length);
  const pieceOf = (starts: readonly number[], at: number) => {
    let low = 0;
    let high = starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (starts[middle]! <= at) low = middle;
      else high = middle - 1;
    }
    return low;
  };
  return {
    text: parts.join(''),
    toRaw(at) {
      const one = pieceOf(inText, at);
      return inRaw[one]! + at - inText[one]!;
    },
    toText(at) {
      const one = pieceOf(inRaw, at);
      return Math.min(inText[one]! + at - inRaw[one]!, inText[one + 1] ?? length);
    },
  };
}
