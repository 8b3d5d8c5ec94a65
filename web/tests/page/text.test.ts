import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { beginning, part, partCount } from '../../src/page/text/excerpt.ts';
import { parseBlocks, parseSpans } from '../../src/page/text/prose.ts';
import { amount, count, duration, sentence, size } from '../../src/page/text/format.ts';

const anyText = fc.string({ unit: 'grapheme', maxLength: 300 });

describe('excerpts', () => {
  test('the parts of a text add up to the text', () => {
    fc.assert(
      fc.property(anyText, fc.integer({ min: 2, max: 40 }), (text, size) => {
        const all = Array.from({ length: partCount(text, size) }, (_, at) => part(text, at, size));
        expect(all.join('')).toBe(text);
        expect(all.every((each) => each.length <= size + 1)).toBe(true);
      }),
    );
  });

  test('no part begins or ends with half a character', () => {
    fc.assert(
      fc.property(anyText, fc.integer({ min: 2, max: 40 }), (text, size) => {
        for (let at = 0; at < partCount(text, size); at += 1) {
          expect(part(text, at, size).isWellFormed()).toBe(true);
        }
        expect(beginning(text, { lines: 3, characters: size }).isWellFormed()).toBe(true);
      }),
    );
  });

  test('a beginning is a prefix of the text within its bounds', () => {
    fc.assert(
      fc.property(anyText, fc.nat({ max: 5 }), fc.nat({ max: 60 }), (text, lines, characters) => {
        const first = beginning(text, { lines: lines + 1, characters });
        expect(text.startsWith(first)).toBe(true);
        expect(first.length).toBeLessThanOrEqual(characters);
        expect(first.split('\n').length).toBeLessThanOrEqual(lines + 1);
      }),
    );
  });

  test('a beginning has whole lines if there are more of them', () => {
    expect(beginning('a\nb\nc\nd', { lines: 2, characters: 100 })).toBe('a\nb');
    expect(beginning('a\nb', { lines: 2, characters: 100 })).toBe('a\nb');
    expect(beginning('a'.repeat(9), { lines: 2, characters: 4 })).toBe('aaaa');
  });
});

describe('prose', () => {
  const words = (text: string) => text.match(/[\p{L}\p{N}]+/gu) ?? [];
  const textOf = (text: string) =>
    parseBlocks(text)
      .map((block) => {
        if (block.kind === 'code') return `${block.language}\n${block.text}`;
        const line = block.spans.map((span) => span.text).join('');
        return block.kind === 'item' ? `${block.mark} ${line}` : line;
      })
      .join('\n');

  test('keeps every word of any text', () => {
    const marks = fc.constantFrom('**', '`', '```', '\n', '- ', '1. ', '# ', ' ', 'a', 'bc', '<b>');
    fc.assert(
      fc.property(fc.array(marks, { maxLength: 60 }), (pieces) => {
        const text = pieces.join('');
        expect(words(textOf(text)).join('')).toBe(words(text).join(''));
      }),
    );
  });

  test('finds bold and code within a line', () => {
    expect(parseSpans('a **b** `c**d**` e')).toEqual([
      { style: 'plain', text: 'a ' },
      { style: 'bold', text: 'b' },
      { style: 'plain', text: ' ' },
      { style: 'code', text: 'c**d**' },
      { style: 'plain', text: ' e' },
    ]);
  });

  test('leaves unmatched delimiters alone', () => {
    expect(parseSpans('2 ** 3 and `x')).toEqual([{ style: 'plain', text: '2 ** 3 and `x' }]);
  });

  test('finds code, lists, headings and paragraphs', () => {
    expect(
      parseBlocks('# Top\nline\nline two\n\n- one\n  2) two\n```py\nx = 1\n\n# no heading'),
    ).toEqual([
      { kind: 'heading', spans: [{ style: 'plain', text: 'Top' }] },
      { kind: 'paragraph', spans: [{ style: 'plain', text: 'line\nline two' }] },
      { kind: 'item', mark: '•', depth: 0, spans: [{ style: 'plain', text: 'one' }] },
      { kind: 'item', mark: '2)', depth: 1, spans: [{ style: 'plain', text: 'two' }] },
      { kind: 'code', language: 'py', text: 'x = 1\n\n# no heading' },
    ]);
  });

  test('takes time linear in the number of unmatched delimiters', () => {
    const began = performance.now();
    parseSpans('` ** '.repeat(100_000));
    parseSpans('**a'.repeat(100_000));
    expect(performance.now() - began).toBeLessThan(2000);
  });
});

test('numbers are formatted for people', () => {
  expect([0.0004, 0.042, 1.2, 12.34, 125, 7500, -1].map(duration)).toEqual([
    '< 1 ms',
    '42 ms',
    '1.20 s',
    '12.3 s',
    '2 min 5 s',
    '2 h 5 min',
    '',
  ]);
  expect(count(1234567)).toBe('1,234,567');
  expect(['no room', 'Full.', ''].map(sentence)).toEqual(['No room.', 'Full.', '']);
  expect([size(812), size(4100), size(5_000_000)]).toEqual(['812 bytes', '4.1 kB', '5.0 MB']);
  expect(['0.00140', '2.0', '3', 'much'].map(amount)).toEqual(['0.0014', '2', '3', 'much']);
});
