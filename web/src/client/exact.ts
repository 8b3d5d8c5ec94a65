/**
 * JSON with exact integers of any size.
 *
 * A model may write 12345678901234567890123, and a tool receives exactly that, so the page must not
 * show another number. Integers that a double cannot represent become `bigint`s.
 */

/** Maximum number of digits of a `bigint`: longer ones take too long to convert. */
const MAX_DIGITS = 1000;

interface Context {
  source?: string;
}

/** Parse JSON. Browsers without access to the source text round large numbers. */
export function parseExact(text: string): unknown {
  if (!/\d{16}/.test(text)) return JSON.parse(text);
  try {
    return JSON.parse(text, exact);
  } catch (error) {
    // So deep that going through it takes too much stack; reading it alone does not.
    if (error instanceof RangeError) return JSON.parse(text);
    throw error;
  }
}

function exact(_: string, value: unknown, context?: Context): unknown {
  const source = context?.source;
  const rounded = typeof value === 'number' && !Number.isSafeInteger(value);
  if (!rounded || source === undefined || source.length > MAX_DIGITS) return value;
  return /^-?\d+$/.test(source) ? BigInt(source) : value;
}

/** Serialize a value; the inverse of `parseExact`. Return undefined if it has no JSON. */
export function stringifyExact(value: unknown): string | undefined {
  const { rawJSON } = JSON as { rawJSON?: (text: string) => unknown };
  return JSON.stringify(value, (_, each: unknown) =>
    typeof each !== 'bigint' ? each : rawJSON ? rawJSON(each.toString()) : Number(each),
  );
}
