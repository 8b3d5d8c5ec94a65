import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { firstLines, isStructured, layOut, layOutText } from '../../src/page/text/json.ts';

const json = fc.json({ maxDepth: 6 });

describe('laying out JSON', () => {
  test('changes white space only: the value is the same', () => {
    fc.assert(
      fc.property(json, (text) => {
        expect(JSON.parse(layOutText(text))).toEqual(JSON.parse(text));
      }),
    );
  });

  test('loses no character of any text that is not white space', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const dense = (each: string) => each.replaceAll(/\s/g, '');
        expect(dense(layOutText(text))).toBe(dense(text));
      }),
    );
  });

  test('is the same however often it is done', () => {
    fc.assert(
      fc.property(json, (text) => {
        expect(layOutText(layOutText(text))).toBe(layOutText(text));
      }),
    );
  });

  test('keeps what is short on one line', () => {
    expect(layOutText('{"city":"Oslo","days":[1,2]}')).toBe('{"city": "Oslo", "days": [1, 2]}');
  });

  test('breaks what is long, and only that', () => {
    const text = JSON.stringify({ a: 'x'.repeat(60), b: [1, 2, { c: {} }] });
    expect(layOutText(text).split('\n')).toEqual([
      '{',
      `  "a": "${'x'.repeat(60)}",`,
      '  "b": [1, 2, {"c": {}}]',
      '}',
    ]);
  });

  test('keeps the spelling of numbers, however big', () => {
    expect(layOutText('[12345678901234567890123, 1.50, -0e3]')).toBe(
      '[12345678901234567890123, 1.50, -0e3]',
    );
  });

  test('tells keys from texts while they are being written', () => {
    const parts = (text: string) => layOut(text).map((token) => token.part);
    expect(parts('{"city": "Os')).toEqual(['sign', 'key', 'sign', 'space', 'text']);
    expect(parts('{"city')).toEqual(['sign', 'text']);
  });

  test('shows its first lines', () => {
    const tokens = layOut(JSON.stringify(Array.from({ length: 100 }, (_, n) => `text ${n}`)));
    const text = firstLines(tokens, 3)
      .map((token) => token.text)
      .join('');
    expect(text.split('\n')).toEqual(['[', '  "text 0",', '  "text 1",']);
    expect(firstLines(tokens, Infinity)).toBe(tokens);
  });

  test('takes brackets without end', () => {
    const deep = '['.repeat(20_000);
    expect(layOutText(deep).length).toBeLessThan(60 * deep.length);
  });
});

test('only whole objects and lists are worth laying out', () => {
  expect(isStructured('{"a": 1}')).toBe(true);
  expect(isStructured(' [1, 2]')).toBe(true);
  expect(isStructured('"text"')).toBe(false);
  expect(isStructured('12')).toBe(false);
  expect(isStructured('{"a": ')).toBe(false);
  expect(isStructured(`[${'1,'.repeat(200_000)}1]`)).toBe(false);
});
