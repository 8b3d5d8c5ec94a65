import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, type AST } from 'svelte/compiler';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { de } from '../../src/page/language/de.ts';
import { en } from '../../src/page/language/en.ts';
import { language, texts } from '../../src/page/language/language.svelte.ts';
import { amount, clock, count, day, duration, humanize, size } from '../../src/page/text/format.ts';
import { scoreText } from '../../src/page/panel/selections.ts';

const root = join(import.meta.dirname, '../../src/page');
const attributes = new Set(['alt', 'aria-label', 'label', 'placeholder', 'title']);
const letters = /\p{L}/u;

beforeEach(() => {
  localStorage.clear();
});

afterEach(() => {
  vi.restoreAllMocks();
  localStorage.clear();
  language.restore();
});

function speak(...tags: string[]): void {
  vi.spyOn(navigator, 'languages', 'get').mockReturnValue(tags);
  language.restore();
}

describe('the choice', () => {
  test.each([
    [['de-AT', 'en'], 'de'],
    [['fr', 'de'], 'de'],
    [['fr-CA', 'en-CA', 'de'], 'en'],
    [['fr'], 'en'],
    [[], 'en'],
    [['constructor', '__proto__'], 'en'],
  ])('of a browser that prefers %j is %s', (tags, expected) => {
    speak(...tags);
    expect(language.current).toBe(expected);
    expect(document.documentElement.lang).toBe(expected);
  });

  test('of the user outlasts a reload', () => {
    speak('en');
    language.choose('de');
    expect(texts().language.name).toBe('Deutsch');
    expect(document.documentElement.lang).toBe('de');
    language.restore();
    expect(language.current).toBe('de');
  });

  test('works without access to storage', () => {
    vi.spyOn(Storage.prototype, 'getItem').mockImplementation(() => {
      throw new Error('no access');
    });
    vi.spyOn(Storage.prototype, 'setItem').mockImplementation(() => {
      throw new Error('no access');
    });
    speak('de');
    expect(language.current).toBe('de');
    language.choose('en');
    expect(language.current).toBe('en');
  });
});

describe('the texts', () => {
  /** Return all texts by their path; functions get numbered arguments. */
  function all(value: unknown, path = ''): [string, string][] {
    if (typeof value === 'string') return [[path, value]];
    if (typeof value === 'function') {
      const given = Array.from({ length: value.length }, (_, index) => `<${index}>`);
      return [[path, (value as (...args: string[]) => string)(...given)]];
    }
    return Object.entries(value as object).flatMap(([key, each]) => all(each, `${path}/${key}`));
  }
  const without = (texts: object) => all({ ...texts, codes: {} });
  const placeholders = (text: string) => (text.match(/<\d>/g) ?? []).toSorted();

  test('of all languages have the same keys and name the same values', () => {
    const [english, german] = [without(en), without(de)];
    expect(german.map(([path]) => path)).toEqual(english.map(([path]) => path));
    for (const [index, [path, text]] of german.entries()) {
      expect([path, placeholders(text)]).toEqual([path, placeholders(english[index]?.[1] ?? '')]);
      expect(text.trim(), path).not.toBe('');
    }
  });

  // A text in the markup of a component would be shown in every language.
  test.each(globSync('**/*.svelte', { cwd: root }).toSorted())('%s has none of its own', (file) => {
    const source = readFileSync(join(root, file), 'utf8');
    const found: string[] = [];
    const visit = (node: unknown): void => {
      if (typeof node !== 'object' || node === null) return;
      if (Array.isArray(node)) {
        for (const each of node) visit(each);
        return;
      }
      const part = node as AST.SvelteNode;
      if (part.type === 'Text' && letters.test(part.data)) found.push(part.data.trim());
      if (part.type === 'Attribute') {
        if (attributes.has(part.name)) visit(part.value);
        return;
      }
      for (const each of Object.values(part)) visit(each);
    };
    visit(parse(source, { modern: true }).fragment);
    expect(found).toEqual([]);
  });
});

test('numbers, times and codes are written as in the language', () => {
  speak('de');
  expect(['duration', 'amount'].map(humanize)).toEqual(['duration', 'amount']);
  expect(duration(2.5)).toBe('2,50 s');
  expect(count(1234567)).toBe('1.234.567');
  expect(amount('0.00140')).toBe('0,0014');
  expect([size(1), size(812), size(4100)]).toEqual(['1 Byte', '812 Bytes', '4,1 kB']);
  expect([scoreText(0.5, 1), scoreText(87.25, 100)]).toEqual(['0,50', '87,3']);
  expect([humanize('schema_violation'), humanize('of_tomorrow')]).toEqual([
    'Argumente verletzen das Schema',
    'of tomorrow',
  ]);
  const march = new Date(2026, 2, 5, 17, 4, 9).getTime();
  expect([day(march), clock(march)]).toEqual(['5. März', '17:04:09']);
  speak('en');
  expect([day(march), clock(march), duration(2.5)]).toEqual(['5 Mar', '17:04:09', '2.50 s']);
});
