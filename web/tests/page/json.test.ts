import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { firstLines, isStructured, formatJson, formatJsonText } from '../../src/page/text/json.ts';

const json = fc.json({ maxDepth: 6 });

describe('formatting JSON', () => {
  test('changes white space only: the value is the same', () => {
    fc.assert(
      fc.property(json, (text) => {
        expect(JSON.parse(formatJsonText(text))).toEqual(JSON.parse(text));
      }),
    );
  });

  test('keeps every character of any text except white space', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const dense = (each: string) => each.replaceAll(/\s/g, '');
        expect(dense(formatJsonText(text))).toBe(dense(text));
      }),
    );
  });

  test('is idempotent', () => {
    fc.assert(
      fc.property(json, (text) => {
        expect(formatJsonText(formatJsonText(text))).toBe(formatJsonText(text));
      }),
    );
  });

  test('keeps short containers on one line', () => {
    expect(formatJsonText('{"city":"Oslo","days":[1,2]}')).toBe('{"city": "Oslo", "days": [1, 2]}');
  });

  test('breaks long containers, and only those', () => {
    const text = JSON.stringify({ a: 'x'.repeat(60), b: [1, 2, { c: {} }] });
    expect(formatJsonText(text).split('\n')).toEqual([
      '{',
      `  "a": "${'x'.repeat(60)}",`,
      '  "b": [1, 2, {"c": {}}]',
      '}',
    ]);
  });

  test('keeps the digits of numbers of any size', () => {
    expect(formatJsonText('[12345678901234567890123, 1.50, -0e3]')).toBe(
      '[12345678901234567890123, 1.50, -0e3]',
    );
  });

  test('distinguishes keys from strings while they are being written', () => {
    const parts = (text: string) => formatJson(text).map((token) => token.part);
    expect(parts('{"city": "Os')).toEqual(['punctuation', 'key', 'punctuation', 'space', 'string']);
    expect(parts('{"city')).toEqual(['punctuation', 'string']);
  });

  test('can be limited to the first lines', () => {
    const tokens = formatJson(JSON.stringify(Array.from({ length: 100 }, (_, n) => `text ${n}`)));
    const text = firstLines(tokens, 3)
      .map((token) => token.text)
      .join('');
    expect(text.split('\n')).toEqual(['[', '  "text 0",', '  "text 1",']);
    expect(firstLines(tokens, Infinity)).toBe(tokens);
  });

  test('handles deeply nested brackets', () => {
    const deep = '['.repeat(20_000);
    expect(formatJsonText(deep).length).toBeLessThan(60 * deep.length);
  });
});

test('only complete objects and arrays are worth formatting', () => {
  expect(isStructured('{"a": 1}')).toBe(true);
  expect(isStructured(' [1, 2]')).toBe(true);
  expect(isStructured('"text"')).toBe(false);
  expect(isStructured('12')).toBe(false);
  expect(isStructured('{"a": ')).toBe(false);
  expect(isStructured(`[${'1,'.repeat(200_000)}1]`)).toBe(false);
});
