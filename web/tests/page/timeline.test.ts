import { render, screen } from '@testing-library/svelte';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { StreamReducer, type Snapshot, type StreamEvent } from '../../src/client/index.ts';
import Timeline from '../../src/page/panel/Timeline.svelte';
import {
  barOf,
  endOf,
  timelinesOf,
  toolSeconds,
  type RunTimeline,
} from '../../src/page/panel/timeline.ts';
import './browser.ts';

const epoch = 1_790_000_000_000;

/** Times, including those of servers whose clock was set and of calls that last for days. */
const time = fc.oneof(
  fc.integer({ min: 0, max: 1000 }).map((at) => epoch + at),
  fc.integer({ min: 0, max: 2 ** 50 }),
);

interface Times {
  started?: number;
  finished?: number;
  duration?: number;
  state: string;
}

const call = fc.record(
  {
    started: time,
    finished: time,
    duration: fc.oneof(fc.double({ min: 0, max: 1, noNaN: true }), fc.integer({ min: 0 })),
    state: fc.constantFrom('running', 'success', 'error', 'denied', 'deferred', 'awaiting_answer'),
  },
  { requiredKeys: ['state'] },
);

/** Return the timeline of a run with these calls. */
function lineOf(calls: Times[], status: 'started' | 'finished' = 'finished'): RunTimeline {
  const toolCalls = calls.map(({ started, finished, duration, state }, index) => ({
    toolCallId: `c${index}`,
    name: 'add',
    index,
    argumentsText: '',
    state,
    progress: [],
    ...(started !== undefined && { startedUtc: started }),
    ...(finished !== undefined && { finishedUtc: finished }),
    ...(duration !== undefined && { duration }),
  }));
  const message = { messageId: 'm', kind: 'tools_call', runId: 'r', toolCalls };
  const snapshot = { runs: [{ runId: 'r', status }], messages: [message], scenes: [] };
  const [line] = timelinesOf(snapshot as unknown as Snapshot);
  if (line === undefined) throw new Error('the run has no timeline');
  return line;
}

describe('bars', () => {
  test('stay within their track at any times', () => {
    fc.assert(
      fc.property(fc.array(call, { minLength: 1 }), fc.boolean(), time, (calls, ended, now) => {
        const line = lineOf(calls, ended ? 'finished' : 'started');
        const end = endOf(line, now);
        for (const lane of line.lanes) {
          const bar = barOf(line, lane, end);
          expect(bar === undefined).toBe(lane.from === undefined);
          if (bar === undefined) continue;
          expect(bar.start).toBeGreaterThanOrEqual(0);
          expect(bar.share).toBeGreaterThanOrEqual(0);
          expect(bar.start + bar.share).toBeLessThanOrEqual(100);
        }
      }),
    );
  });

  test('show which of two calls started and finished first', () => {
    const ordered = fc.uniqueArray(fc.integer({ min: 0, max: 9999 }), {
      minLength: 4,
      maxLength: 4,
    });
    fc.assert(
      fc.property(ordered, (times) => {
        const [a = 0, b = 0, c = 0, d = 0] = times.sort((one, other) => one - other);
        const line = lineOf([
          { started: a, finished: c, state: 'success' },
          { started: b, finished: d, state: 'success' },
        ]);
        const [one, other] = line.lanes.map((lane) => barOf(line, lane, endOf(line, 0)));
        if (one === undefined || other === undefined) throw new Error('a call has no bar');
        expect(one.start).toBe(0);
        expect(other.start).toBeGreaterThan(0);
        expect(other.start).toBeLessThan(one.share);
        expect(other.start + other.share).toBeCloseTo(100);
      }),
    );
  });
});

describe('the time that tools took', () => {
  const run = fc.record({
    // Waiting for approval, for a free slot or for the model.
    wait: fc.integer({ min: 0, max: 1_000_000 }),
    took: fc.integer({ min: 0, max: 5000 }),
  });

  test('is the sum of sequential calls, however long they waited', () => {
    fc.assert(
      fc.property(fc.array(run, { minLength: 1 }), (runs) => {
        let now = epoch;
        const calls = runs.map(({ wait, took }) => {
          const started = now + wait;
          now = started + took;
          return { started, finished: now, duration: took / 1000, state: 'success' };
        });
        const line = lineOf(calls);
        const sum = runs.reduce((all, { took }) => all + took, 0) / 1000;
        expect(toolSeconds(line, endOf(line, now))).toBeCloseTo(sum, 6);
      }),
    );
  });

  test('is at least that of the longest call, and at most that of all calls together', () => {
    fc.assert(
      fc.property(fc.array(run, { minLength: 1 }), (runs) => {
        const line = lineOf(
          runs.map(({ wait, took }) => ({
            started: epoch + wait,
            finished: epoch + wait + took,
            duration: took / 1000,
            state: 'success',
          })),
        );
        const found = toolSeconds(line, endOf(line, epoch)) ?? -1;
        const all = runs.map(({ took }) => took / 1000);
        expect(found).toBeGreaterThanOrEqual(Math.max(...all) - 1e-6);
        expect(found).toBeLessThanOrEqual(all.reduce((sum, one) => sum + one, 0) + 1e-6);
      }),
    );
  });

  test('is undefined if no tool ran', () => {
    const denied = lineOf([{ finished: epoch, state: 'denied' }]);
    expect(toolSeconds(denied, endOf(denied, epoch))).toBeUndefined();
  });

  test('excludes the wait for an approval', () => {
    const reducer = new StreamReducer();
    const common = { runId: 'r', messageId: 'g.calls', toolCallId: 'b' };
    const add = { name: 'add', arguments: {} };
    const calls = ['a', 'b'].map((toolCallId, index) => ({ ...add, toolCallId, index }));
    const result = { result: '3', isError: false, done: true, duration: 0.005 };
    const events: [number, Record<string, unknown>][] = [
      [0, { kind: 'run', status: 'started' }],
      [1, { kind: 'tools_call', toolCalls: calls }],
      [2, { kind: 'tool_state', toolCallId: 'a', state: 'running' }],
      [3, { kind: 'tool_state', state: 'awaiting_approval', key: 'k' }],
      [7, { kind: 'tool_result', toolCallId: 'a', ...result }],
      [755, { kind: 'tool_state', state: 'approved', decidedBy: 'ann' }],
      [756, { kind: 'tool_state', state: 'running' }],
      [761, { kind: 'tool_result', ...result }],
      [762, { kind: 'run', status: 'finished', stopReason: 'completed' }],
    ];
    for (const [index, [at, event]] of events.entries()) {
      const head = { sequenceNumber: index + 1, timestampUtc: epoch + at };
      reducer.push({ ...common, ...head, ...event } as unknown as StreamEvent);
    }
    render(Timeline, { snapshot: reducer.snapshot() });
    expect(screen.getByText('tools took').nextElementSibling?.textContent).toBe('10 ms');
  });
});
