/**
 * Detection of misspelled names, with the rules of the Rust core.
 */

/** Minimum length of a known name for which an edit counts as a misspelling. */
const LONG = 5;

/** Normalize a name: ignore case, `_` and `-`. */
const folded = (name: string): string =>
  name.replace(/[_-]/g, '').replace(/[A-Z]/g, (letter) => letter.toLowerCase());

/** Return true if two names differ only in case, `_` and `-`. */
export const alike = (name: string, known: string): boolean => folded(name) === folded(known);

/**
 * Return true if a name looks like a misspelling of a known one: it differs only in case, `_` and
 * `-`, or by one letter or one swap, if the known name has five letters or more.
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
