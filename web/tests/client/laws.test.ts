import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Snapshot, StreamEvent } from '../../src/client/events.ts';
import { StreamEventError } from '../../src/client/check.ts';
import { StreamReducer } from '../../src/client/reducer.ts';
import { equal } from '../../src/client/sharing.ts';
import { chat, moment } from './arbitrary.ts';

const OPTIONS = { pendingTimeout: 100 };

function reduce(events: StreamEvent[], now?: number): Snapshot {
  const reducer = new StreamReducer(OPTIONS);
  for (const event of events) reducer.push(event);
  return reducer.snapshot(now);
}

/** A chat, and an order in which its events arrive, some of them more than once. */
const disordered = chat.chain((events) =>
  fc.record({
    events: fc.constant(events),
    order: fc
      .tuple(
        fc.shuffledSubarray(events, { minLength: events.length }),
        fc.subarray(events).chain((again) => fc.shuffledSubarray(again)),
        fc.array(fc.nat()),
      )
      .map(([all, again, places]) => {
        const order = [...all];
        again.forEach((event, i) =>
          order.splice((places[i] ?? 0) % (order.length + 1), 0, structuredClone(event)),
        );
        return order;
      }),
  }),
);

test('any order, with any repetition, gives the same snapshot', () => {
  fc.assert(
    fc.property(disordered, moment, ({ events, order }, now) => {
      expect(reduce(order, now)).toEqual(reduce(events, now));
    }),
    { numRuns: 500 },
  );
});

test('intermediate snapshots make no difference', () => {
  fc.assert(
    fc.property(disordered, fc.infiniteStream(moment), moment, ({ order }, moments, now) => {
      const observed = new StreamReducer(OPTIONS);
      for (const event of order) {
        observed.push(event);
        observed.snapshot(moments.next().value as number | undefined);
      }
      expect(observed.snapshot(now)).toEqual(reduce(order, now));
    }),
    { numRuns: 500 },
  );
});

test('part of a chat gives the same snapshot in any order too', () => {
  const part = chat.chain((events) => fc.subarray(events));
  fc.assert(
    fc.property(
      part.chain((events) =>
        fc.tuple(fc.constant(events), fc.shuffledSubarray(events, { minLength: events.length })),
      ),
      ([events, order]) => {
        expect(reduce(order)).toEqual(reduce(events));
      },
    ),
  );
});

test('received and missing numbers together are complete', () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.integer({ min: 1, max: 60 })), (numbers) => {
      const reducer = new StreamReducer();
      for (const sequenceNumber of numbers) reducer.push({ kind: 'hologram', sequenceNumber });
      const { missing, lastSequenceNumber } = reducer.snapshot();
      const absent = missing.flatMap(([first, last]) =>
        Array.from({ length: last - first + 1 }, (_, i) => first + i),
      );
      const end = Math.max(0, ...numbers);
      expect([...numbers, ...absent].sort((a, b) => a - b)).toEqual(
        Array.from({ length: end }, (_, i) => i + 1),
      );
      expect(lastSequenceNumber).toBe(Math.min(end, ...missing.map(([first]) => first - 1)));
    }),
  );
});

describe('sharing', () => {
  test('unchanged parts keep their identity, and earlier snapshots never change', () => {
    fc.assert(
      fc.property(disordered, fc.infiniteStream(moment), ({ order }, moments) => {
        const reducer = new StreamReducer(OPTIONS);
        let before = reducer.snapshot();
        for (const event of order) {
          const copy = structuredClone(before);
          reducer.push(event);
          const now = reducer.snapshot(moments.next().value as number | undefined);
          expect(before).toEqual(copy);
          if (equal(before, now)) expect(now).toBe(before);
          const messages = new Map(before.messages.map((m) => [m.kind + m.messageId, m]));
          for (const message of now.messages) {
            const known = messages.get(message.kind + message.messageId);
            if (equal(known, message)) expect(message).toBe(known);
            for (const call of message.toolCalls ?? []) {
              const same = known?.toolCalls?.find((c) => c.toolCallId === call.toolCallId);
              if (equal(same, call)) expect(call).toBe(same);
            }
          }
          before = now;
        }
      }),
      { numRuns: 300 },
    );
  });

  test('a late event with equal metadata leaves its message unchanged', () => {
    const reducer = new StreamReducer();
    const update = (sequenceNumber: number, metadata?: Record<string, unknown>): StreamEvent => ({
      kind: 'tools_call_update',
      sequenceNumber,
      messageId: 'calls',
      ...(metadata && { metadata }),
      toolCallUpdates: [],
    });
    reducer.push(update(1));
    reducer.push(update(3, { city: ['Oslo'] }));
    const before = reducer.snapshot();
    reducer.push(update(2, { city: ['Oslo'] }));
    const after = reducer.snapshot();
    expect(after.messages[0]).toBe(before.messages[0]);
  });

  test('a piece of text changes its message and no other', () => {
    const reducer = new StreamReducer();
    const text = (sequenceNumber: number, messageId: string): StreamEvent => ({
      kind: 'text',
      chatId: 'c',
      sequenceNumber,
      messageId,
      delta: 'x',
    });
    reducer.push(text(1, 'one'));
    reducer.push(text(2, 'two'));
    const before = reducer.snapshot();
    reducer.push(text(3, 'two'));
    const after = reducer.snapshot();
    expect(after.messages[0]).toBe(before.messages[0]);
    expect(after.messages[1]).not.toBe(before.messages[1]);
    expect(after.runs).toBe(before.runs);
    expect(reducer.snapshot()).toBe(after);
  });

  test('a late event leaves other messages unchanged', () => {
    const reducer = new StreamReducer();
    const textEvent = (sequenceNumber: number): StreamEvent => ({
      kind: 'text',
      sequenceNumber,
      messageId: `m${sequenceNumber}`,
      delta: 'x',
      done: true,
    });
    [1, 2, 4, 5].map(textEvent).forEach((event) => reducer.push(event));
    const before = reducer.snapshot();
    reducer.push(textEvent(3));
    const after = reducer.snapshot();
    expect(after.messages.map(({ messageId }) => messageId)).toEqual([
      'm1',
      'm2',
      'm3',
      'm4',
      'm5',
    ]);
    for (const message of before.messages) expect(after.messages).toContain(message);
  });
});

describe('cost', () => {
  test('each event in order is read a bounded number of times', () => {
    const reads = (count: number): number => {
      let total = 0;
      const counted = <T extends object>(target: T): T =>
        new Proxy(target, {
          get(object, name, receiver): unknown {
            total += 1;
            return Reflect.get(object, name, receiver);
          },
          ownKeys(object) {
            total += 1;
            return Reflect.ownKeys(object);
          },
        });
      const reducer = new StreamReducer();
      for (let i = 1; i <= count; i++) {
        const head = { chatId: 'c', sequenceNumber: i, timestampUtc: i, runId: 'r' };
        const body =
          i % 3 === 0
            ? { kind: 'tool_result', toolCallId: 'a', result: 'half', isError: false, done: false }
            : { kind: 'text', messageId: `m${Math.floor(i / 100)}`, delta: 'x' };
        reducer.push(counted({ ...head, ...body }));
        if (i % 10 === 0) reducer.snapshot(i);
      }
      return total;
    };
    const [few, many] = [reads(500), reads(5000)];
    expect(many).toBeLessThan(few * 11);
  });

  test('a long chat in order, with occasional snapshots, is fast', () => {
    const reducer = new StreamReducer();
    for (let i = 1; i <= 100_000; i++) {
      reducer.push({ kind: 'text', sequenceNumber: i, messageId: `m${i >> 10}`, delta: 'word ' });
      if (i % 100 === 0) reducer.snapshot(i);
    }
    expect(reducer.snapshot().messages).toHaveLength(98);
  });

  test('a long shuffled chat is fast', () => {
    const reducer = new StreamReducer();
    // 7919 is coprime to the length, so this visits every number once, far out of order.
    for (let i = 0; i < 50_000; i++) {
      const sequenceNumber = ((i * 7919) % 50_000) + 1;
      reducer.push({ kind: 'text', sequenceNumber, messageId: 'm', delta: 'x' });
    }
    expect(reducer.snapshot().lastSequenceNumber).toBe(50_000);
  });
});

describe('pushing', () => {
  test('returns true if the number is new', () => {
    const reducer = new StreamReducer();
    expect(reducer.push({ kind: 'raw', sequenceNumber: 1, delta: 'x' })).toBe(true);
    expect(reducer.push({ kind: 'raw', sequenceNumber: 1, delta: 'x' })).toBe(false);
    expect(reducer.snapshot().problems).toEqual([]);
    expect(reducer.push({ kind: 'raw', sequenceNumber: 1, delta: 'y' })).toBe(false);
    expect(reducer.snapshot().problems).toEqual([{ kind: 'conflict', sequenceNumber: 1 }]);
  });

  test.for([undefined, 0, -1, 1.5, NaN, 2 ** 53])('rejects the number %s', (sequenceNumber) => {
    const event = { kind: 'raw', delta: 'x', sequenceNumber } as StreamEvent;
    expect(() => new StreamReducer().push(event)).toThrow(StreamEventError);
  });

  test('compares values nested deeper than the call stack', () => {
    const nested = (): unknown => {
      let value: unknown = 1;
      for (let i = 0; i < 200_000; i++) value = [value];
      return value;
    };
    const event = (): StreamEvent => ({
      kind: 'scene',
      sequenceNumber: 1,
      step: { deep: nested() },
    });
    const reducer = new StreamReducer();
    reducer.push(event());
    expect(reducer.push(event())).toBe(false);
    expect(reducer.snapshot().problems).toEqual([]);
  });
});
