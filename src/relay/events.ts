/** Server-sent events to the JSON messages that they carry. */

/** Feeds text; returns the data of each event that became complete. Throws RangeError where one exceeds `limit` characters. */
export function createEventReader(limit: number): (text: string) => string[] {
  let rest = '';
  let data: string[] = [];
  let size = 0;

  function line(text: string, out: string[]): void {
    if (text === '') {
      if (data.length > 0) out.push(data.join('\n'));
      data = [];
      size = 0;
    } else if (text.startsWith('data:')) {
      const value = text.slice(text[5] === ' ' ? 6 : 5);
      size += value.length;
      data.push(value);
    }
  }

  return (text) => {
    const out: string[] = [];
    const lines = (rest + text).split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop() ?? '';
    for (const part of lines) line(part, out);
    if (rest.length + size > limit) throw new RangeError('the gateway sent a message that is too large');
    return out;
  };
}
