/** Shows a long text piece by piece, so that no size of it stops the page. */

export interface Bounds {
  /** The most lines of the piece. */
  lines: number;
  /** The most characters (UTF-16 units) of the piece. */
  characters: number;
}

/** The beginning of `text` within `bounds`: whole lines where they fit, never half a character. */
export function beginning(text: string, bounds: Bounds): string {
  let end = -1;
  for (let line = 0; line < bounds.lines; line += 1) {
    const next = text.indexOf('\n', end + 1);
    if (next === -1 || next > bounds.characters) {
      return text.slice(0, whole(text, bounds.characters));
    }
    end = next;
  }
  return text.slice(0, Math.max(0, end));
}

/** Part `number` (from 0) of `text`, cut into parts of about `size` characters. */
export function part(text: string, number: number, size: number): string {
  return text.slice(whole(text, number * size), whole(text, (number + 1) * size));
}

/** How many parts there are; one for an empty text. */
export function parts(text: string, size: number): number {
  return Math.max(1, Math.ceil(text.length / size));
}

/** `at`, or one less where a pair of surrogates would be cut in two. */
function whole(text: string, at: number): number {
  if (at <= 0) return 0;
  if (at >= text.length) return text.length;
  const code = text.charCodeAt(at);
  const before = text.charCodeAt(at - 1);
  const cut = code >= 0xdc00 && code <= 0xdfff && before >= 0xd800 && before <= 0xdbff;
  return cut ? at - 1 : at;
}
