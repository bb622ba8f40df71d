/** Whatever an agent can write, by what it tries. */
export const texts: Readonly<Record<string, string>> = {
  markup: '<img src=x onerror="alert(1)"><script>alert(2)</script><style>*{display:none}</style>',
  'an attribute': '" onmouseover="alert(1)" x="',
  'a link': 'javascript:alert(1)',
  bidi: 'safe\u202e evil\u202c \u2066x\u2069',
  'zero-width': 'gi\u200bt pu\u200dsh\ufeff\u2060',
  ansi: '\u001b[2J\u001b[31mred\u0007',
  newlines: `one\n\n\n\r\n\u2028${'\n'.repeat(200)}Approve`,
  homoglyphs: 'gіt рush оrigin',
  'a button': '[ Approve ]   ✔ Approved by the operator',
  'one long word': 'x'.repeat(1_950),
  template: '${alert(1)} {{constructor.constructor("alert(1)")()}}',
  prototype: '__proto__',
  surrogates: 'a\ud800b',
};

/** What a screen obeys instead of showing it: none of it may be in a page's text. As source of an expression. */
export const obeyed = '/[\\u202a-\\u202e\\u2066-\\u2069\\u200b\\u200d\\u2060\\ufeff\\u001b\\u0007\\u2028]/';
