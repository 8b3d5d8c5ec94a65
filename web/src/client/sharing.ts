/** Comparison of JSON values, and structural sharing of unchanged objects. */

type Fields = Record<string, unknown>;

/** Default depth of `share`; below it only identical objects are equal. */
const SHARED_DEPTH = 6;

/** Return true if two JSON values are equal, regardless of the order of fields. */
export function equal(one: unknown, other: unknown): boolean {
  // A stack of our own: what a tool returns may be nested deeper than calls can be.
  const pairs: [unknown, unknown][] = [[one, other]];
  for (let pair = pairs.pop(); pair !== undefined; pair = pairs.pop()) {
    const [a, b] = pair;
    if (a === b) continue;
    if (Array.isArray(a) && Array.isArray(b)) {
      if (a.length !== b.length) return false;
      a.forEach((item, i) => pairs.push([item, b[i]]));
    } else if (isFields(a) && isFields(b)) {
      const names = Object.keys(a);
      if (names.length !== Object.keys(b).length) return false;
      for (const name of names) {
        if (!Object.hasOwn(b, name)) return false;
        pairs.push([a[name], b[name]]);
      }
    } else {
      return false;
    }
  }
  return true;
}

/**
 * Return `now` with the objects of `before` wherever they are equal, so that a comparison by
 * identity finds only the changes.
 */
export function share<T>(before: unknown, now: T, depth = SHARED_DEPTH): T {
  if (before === now || depth === 0) return now;
  if (Array.isArray(before) && Array.isArray(now)) {
    const items = now.map((item: unknown, i) => share(before[i], item, depth - 1));
    const same = before.length === items.length && items.every((item, i) => item === before[i]);
    return (same ? before : items) as T;
  }
  if (isFields(before) && isFields(now)) {
    const names = Object.keys(now);
    const values = names.map((name) => share(own(before, name), now[name], depth - 1));
    const same =
      names.length === Object.keys(before).length &&
      names.every((name, i) => Object.hasOwn(before, name) && before[name] === values[i]);
    // Built from entries: a field called `__proto__` is a field like others.
    return (same ? before : Object.fromEntries(names.map((name, i) => [name, values[i]]))) as T;
  }
  return now;
}

/** Return `before` if `now` has the same objects in the same order. */
export function keep<T>(before: T[] | undefined, now: T[]): T[] {
  const same = before?.length === now.length && now.every((item, i) => item === before[i]);
  return same ? before : now;
}

function own(fields: Fields, name: string): unknown {
  return Object.hasOwn(fields, name) ? fields[name] : undefined;
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Return the object without null fields: on the wire, null counts as absent. */
export function withoutNulls<T extends object>(fields: T): T {
  const given = Object.entries(fields).filter(([, value]) => value !== null);
  return given.length === Object.keys(fields).length ? fields : (Object.fromEntries(given) as T);
}
