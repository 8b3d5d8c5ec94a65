import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { faultIn } from '../../src/client/check.ts';
import type { StreamEvent } from '../../src/client/events.ts';
import { StreamReducer } from '../../src/client/reducer.ts';
import { chat } from './arbitrary.ts';

interface Case {
  name: string;
  event: unknown;
  path: string;
}

const INVALID = new URL('../../../tests/cases/lifecycle/invalid.json', import.meta.url);

test.for(JSON.parse(readFileSync(INVALID, 'utf8')) as Case[])(
  'Rust and TypeScript refuse it at the same place: $name',
  ({ event, path }) => {
    expect(faultIn(event)?.path).toBe(path);
    expect(() => new StreamReducer().push(event as StreamEvent)).toThrow(
      path === '' ? 'stream event: expected an object' : `stream event at ${path}: expected`,
    );
  },
);

describe('an aggregate is refused, although it is what the schemas say', () => {
  const call = { toolCallId: 'a', name: 'T', arguments: {}, index: 0 };
  const result = { toolCallId: 'a', name: 'T', result: 'x', isError: false };
  const at = (toolCalls: object[], toolResults: object[]): string | undefined =>
    faultIn({ kind: 'tools_aggregate', messageId: 'm', toolCalls, toolResults })?.path;

  test('with a call twice', () => {
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

test('whatever passes can be added up', () => {
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
