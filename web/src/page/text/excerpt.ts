/** Excerpts and parts of a long text, so that a text of any size can be shown. */

/** Limits of an excerpt. */
export interface Bounds {
  /** Maximum number of lines. */
  lines: number;
  /** Maximum number of characters (UTF-16 code units). */
  characters: number;
}

/** Return the beginning of `text` within `bounds`: whole lines if they fit, never half a character. */
export function beginning(text: string, bounds: Bounds): string {
  let end = -1;
  for (let line = 0; line < bounds.lines; line += 1) {
    const next = text.indexOf('\n', end + 1);
    if (next === -1 || next > bounds.characters) {
      return text.slice(0, characterBoundary(text, bounds.characters));
    }
    end = next;
  }
  return text.slice(0, Math.max(0, end));
}

/** Return part `number` (from 0) of `text` in parts of about `size` characters. */
export function part(text: string, number: number, size: number): string {
  return text.slice(
    characterBoundary(text, number * size),
    characterBoundary(text, (number + 1) * size),
  );
}

/** Return the number of parts; 1 for an empty text. */
export function partCount(text: string, size: number): number {
  return Math.max(1, Math.ceil(text.length / size));
}

/** Return `at`, or one less if it would split a surrogate pair. */
function characterBoundary(text: string, at: number): number {
  if (at <= 0) return 0;
  if (at >= text.length) return text.length;
  const code = text.charCodeAt(at);
  const before = text.charCodeAt(at - 1);
  const cut = code >= 0xdc00 && code <= 0xdfff && before >= 0xd800 && before <= 0xdbff;
  return cut ? at - 1 : at;
}
