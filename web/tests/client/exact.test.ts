import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseExact, stringifyExact } from '../../src/client/exact.ts';

test('integers survive a round trip', () => {
  fc.assert(
    fc.property(fc.bigInt(), (number) => {
      const text = `{"n":[${number}],"s":"${number}"}`;
      expect(stringifyExact(parseExact(text))).toBe(text);
    }),
  );
});

test('other values are parsed as usual', () => {
  fc.assert(
    fc.property(fc.json(), (text) => {
      const big = `[12345678901234567890, ${text}]`;
      expect(JSON.parse(stringifyExact(parseExact(big)) ?? '')).toEqual(JSON.parse(big));
    }),
  );
  expect(parseExact('[0.12345678901234567890, 1e400]')).toEqual([0.12345678901234568, Infinity]);
});

test('only what a double cannot hold becomes a bigint', () => {
  expect(parseExact('[9007199254740991, 9007199254740993, -12345678901234567890]')).toEqual([
    9007199254740991,
    9007199254740993n,
    -12345678901234567890n,
  ]);
});

test('any depth and any number of digits is supported', () => {
  const deep = `${'['.repeat(100_000)}1234567890123456789${']'.repeat(100_000)}`;
  expect(() => parseExact(deep)).not.toThrow();
  expect(parseExact(`[${'9'.repeat(1_000_000)}]`)).toEqual([Infinity]);
});

test('invalid JSON raises a SyntaxError', () => {
  expect(() => parseExact('{"a": 12345678901234567890')).toThrow(SyntaxError);
});
