/**
 * JSON whose whole numbers stay what they are, however big.
 *
 * A model may write 12345678901234567890123, and a tool gets just that; what people see must not
 * be another number. Whole numbers that a double cannot hold become `bigint`s.
 */

/** More digits than this are no number that anybody reads; as a `bigint` they would take long. */
const MAX_DIGITS = 1000;

interface Context {
  source?: string;
}

/** The value of `text`. Browsers that do not tell how a number was spelled round it. */
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

/** The text of `value`; the inverse of `parseExact`. Undefined where there is no JSON for it. */
export function stringifyExact(value: unknown): string | undefined {
  const { rawJSON } = JSON as { rawJSON?: (text: string) => unknown };
  return JSON.stringify(value, (_, each: unknown) =>
    typeof each !== 'bigint' ? each : rawJSON ? rawJSON(each.toString()) : Number(each),
  );
}
