import { readFileSync, readdirSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { Snapshot, StreamEvent } from '../../src/client/events.ts';
import { type ReducerOptions, StreamReducer } from '../../src/client/reducer.ts';

interface Case {
  name: string;
  events: StreamEvent[];
  snapshot: Snapshot;
  now?: number;
  pendingTimeoutMs?: number;
}

const CASES = new URL('../../../tests/cases/lifecycle/', import.meta.url);

function options({ pendingTimeoutMs }: Case): ReducerOptions {
  return pendingTimeoutMs === undefined ? {} : { pendingTimeout: pendingTimeoutMs };
}

function reduce(one: Case, events: StreamEvent[] = one.events): Snapshot {
  const reducer = new StreamReducer(options(one));
  for (const event of events) reducer.push(event);
  return reducer.snapshot(one.now);
}

for (const file of readdirSync(CASES).filter((name) => name !== 'invalid.json')) {
  const cases = JSON.parse(readFileSync(new URL(file, CASES), 'utf8')) as Case[];
  describe(`the cases shared by Rust and TypeScript, ${file}`, () => {
    test.for(cases)('$name', (one) => {
      expect(reduce(one)).toEqual(one.snapshot);
    });
  });
}
