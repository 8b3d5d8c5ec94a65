/**
 * Misspelt names, judged as in the Rust core.
 */

/** Known names shorter than this are too close to others for any edit. */
const LONG = 5;

/** A name without what people vary: case, `_` and `-`. */
const folded = (name: string): string =>
  name.replace(/[_-]/g, '').replace(/[A-Z]/g, (letter) => letter.toLowerCase());

/** Whether two names are the same but for case, `_` and `-`. */
export const alike = (name: string, known: string): boolean => folded(name) === folded(known);

/**
 * Whether a name looks like a misspelling of a known one: the same but for case, `_` and `-`, or
 * one letter too many, too few or wrong, or two swapped, if the known name has five or more.
 */
export function misspells(name: string, known: string): boolean {
  const [a, b] = [Array.from(folded(name)), Array.from(folded(known))];
  if (a.join('') === b.join('')) return true;
  if (b.length < LONG || Math.abs(a.length - b.length) > 1) return false;
  let start = 0;
  while (start < a.length && a[start] === b[start]) start += 1;
  const rest = (letters: string[], from: number): string => letters.slice(from).join('');
  const swapped =
    a[start] === b[start + 1] &&
    a[start + 1] === b[start] &&
    rest(a, start + 2) === rest(b, start + 2);
  return (
    swapped ||
    rest(a, start + 1) === rest(b, start + 1) ||
    rest(a, start + 1) === rest(b, start) ||
    rest(a, start) === rest(b, start + 1)
  );
}
