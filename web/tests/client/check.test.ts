import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { faultIn } from '../../src/client/check.ts';
import { misspells } from '../../src/client/near.ts';
import type { StreamEvent } from '../../src/client/events.ts';
import { StreamReducer } from '../../src/client/reducer.ts';
import { chat } from './arbitrary.ts';

type Fields = Record<string, unknown>;

interface Case {
  name: string;
  event: unknown;
  path: string;
}

const INVALID = new URL('../../../tests/cases/lifecycle/invalid.json', import.meta.url);

test.for(JSON.parse(readFileSync(INVALID, 'utf8')) as Case[])(
  'Rust and TypeScript reject it at the same path: $name',
  ({ event, path }) => {
    expect(faultIn(event)?.path).toBe(path);
    expect(() => new StreamReducer().push(event as StreamEvent)).toThrow(
      path === '' ? 'stream event: expected an object' : `stream event at ${path}: expected`,
    );
  },
);

describe('an aggregate that satisfies the schemas is rejected', () => {
  const call = { toolCallId: 'a', name: 'T', arguments: {}, index: 0 };
  const result = { toolCallId: 'a', name: 'T', result: 'x', isError: false };
  const at = (toolCalls: object[], toolResults: object[]): string | undefined =>
    faultIn({ kind: 'tools_aggregate', messageId: 'm', toolCalls, toolResults })?.path;

  test('with a duplicate call', () => {
    expect(at([call, call], [])).toBe('/toolCalls/1');
  });

  test('with two results of one call', () => {
    expect(at([call], [result, result])).toBe('/toolResults/1');
  });

  test('with the result of another call', () => {
    expect(at([], [result])).toBe('/toolResults/0');
    expect(at([call], [result])).toBeUndefined();
  });
});

test('an event of any kind passes', () => {
  fc.assert(
    fc.property(chat, (events) => {
      for (const event of events) expect(faultIn(event)).toBeUndefined();
    }),
  );
});

/** Typical misspellings of a name. */
const slips: ((name: string) => string)[] = [
  (name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
  (name) => name.toUpperCase(),
  (name) => (name.length < 5 ? `${name}-` : name.slice(1)),
  (name) => (name.length < 5 ? `-${name}` : `${name}s`),
];

test('a misspelled field is never ignored silently', () => {
  const nested = ['toolCallUpdates', 'toolCalls', 'toolResults', 'ranking'];
  fc.assert(
    fc.property(chat, fc.nat(), fc.nat(), fc.constantFrom(...slips), (events, which, at, slip) => {
      const event = structuredClone(events[which % events.length]) as unknown as Fields | undefined;
      fc.pre(event !== undefined && event.kind !== 'hologram');
      const objects = [event, ...nested.flatMap((list) => (event[list] ?? []) as Fields[])];
      const object = objects[at % objects.length] ?? event;
      const names = Object.keys(object).filter(
        (name) => object[name] !== null && (event.kind !== 'tools_aggregate' || name !== 'invalid'),
      );
      const name = names[at % names.length] ?? '';
      const other = slip(name);
      fc.pre(!(other in object));
      const taken = object[name];
      // A null field counts as absent.
      Object.assign(object, { [name]: null, [other]: taken });
      expect(faultIn(event), JSON.stringify(event)).toBeDefined();
    }),
    { numRuns: 500 },
  );
});

/** Return the edit distance of two names; swapping two adjacent letters is one edit. */
function distance(a: string, b: string): number {
  const rows = [...Array(a.length + 1).keys()].map((i) => [i]);
  rows[0] = [...Array(b.length + 1).keys()];
  const at = (i: number, j: number): number => rows[i]?.[j] ?? Infinity;
  for (let i = 1; i <= a.length; i++) {
    for (let j = 1; j <= b.length; j++) {
      const swap = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1] ? at(i - 2, j - 2) + 1 : Infinity;
      const other = at(i - 1, j - 1) + Number(a[i - 1] !== b[j - 1]);
      (rows[i] ??= [])[j] = Math.min(at(i - 1, j) + 1, at(i, j - 1) + 1, other, swap);
    }
  }
  return at(a.length, b.length);
}

test('a misspelling of a long name is at most one edit away', () => {
  const name = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 7 });
  fc.assert(
    fc.property(name, name, (one, other) => {
      const most = other.length < 5 ? 0 : 1;
      expect(misspells(one, other)).toBe(distance(one, other) <= most);
      expect(misspells(`_${one.toUpperCase()}-`, other)).toBe(misspells(one, other));
    }),
    { numRuns: 2000 },
  );
});

test('every event that passes can be reduced', () => {
  const mangled = fc
    .tuple(chat, fc.array(fc.tuple(fc.nat(), fc.nat(), fc.jsonValue())))
    .map(([events, changes]) => {
      const copies = structuredClone(events) as unknown as Record<string, unknown>[];
      for (const [which, field, value] of changes) {
        const event = copies[which % copies.length];
        const names = Object.keys(event ?? {});
        const name = names[field % names.length];
        if (event && name !== undefined) event[name] = value;
      }
      return copies as unknown as StreamEvent[];
    });
  fc.assert(
    fc.property(mangled, (events) => {
      const reducer = new StreamReducer();
      for (const event of events) {
        if (faultIn(event) || event.sequenceNumber == null) continue;
        reducer.push(event);
      }
      JSON.stringify(reducer.snapshot(0));
    }),
    { numRuns: 500 },
  );
});
