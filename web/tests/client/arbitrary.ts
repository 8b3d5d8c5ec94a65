/** Random chats with few ids, so that events often refer to each other. */
import fc from 'fast-check';
import type { StreamEvent } from '../../src/client/events.ts';
import type { Numbered } from '../../src/client/state.ts';

const optional = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.option(arbitrary, { nil: undefined, freq: 3 });

const messageId = fc.constantFrom('g1.calls', 'g2.calls', 'g1.0');
const callId = fc.constantFrom('a', 'b', 'call_0', '');
const named = fc.constantFrom('a', 'b', 'call_0');
const index = fc.nat(2);
const toolName = fc.constantFrom('GetWeather', 'T', 'Get', '');
const text = fc.constantFrom('', 'x', 'é😀', '{"city":', ' "Oslo"}');
const value: fc.Arbitrary<unknown> = fc.constantFrom<unknown>(null, 1, 'x', [1], { a: { b: [] } });
const args = fc.dictionary(fc.constantFrom('city', '__proto__', 'n'), value, { maxKeys: 2 });

const head = fc.record(
  {
    chatId: fc.constantFrom('c1', 'c1', 'c1', 'c1', 'c2'),
    timestampUtc: fc.integer({ min: 1000, max: 1200 }),
    runId: fc.constantFrom('r1', 'r2'),
    generationId: fc.constantFrom('g1', 'g2'),
    role: fc.constantFrom('user', 'assistant', 'tool'),
    fromAgent: fc.constantFrom('planner', null),
    done: fc.boolean(),
    metadata: args,
  },
  { requiredKeys: [] },
);

const call = fc
  .record({
    toolCallId: named,
    name: toolName,
    arguments: args,
    index: optional(index),
    repairs: optional(fc.constant([{ path: '', kind: 'trailing_comma', before: null }])),
  })
  .map(withoutUndefined);

const validOrInvalidCall = fc.oneof(
  call,
  call.map((fields) => {
    const invalid = { reason: 'schema_violation', message: 'no' };
    const rejected: Record<string, unknown> = { ...fields, invalid };
    delete rejected.arguments;
    return rejected;
  }),
);

const result = fc
  .record({
    toolCallId: named,
    name: toolName,
    result: text,
    isError: fc.boolean(),
    errorCode: optional(fc.constantFrom('timeout', 'denied', 'interrupted', 'raised')),
    duration: optional(fc.constant(0.25)),
  })
  .map(withoutUndefined);

const update = fc
  .record({
    toolCallId: optional(callId),
    index: optional(index),
    functionName: optional(toolName),
    functionArgs: optional(text),
  })
  .map(withoutUndefined)
  .filter((fields) => Object.keys(fields).length > 0);

const body = fc.oneof(
  fc.record({ kind: fc.constantFrom('text', 'reasoning'), messageId, delta: text }),
  fc.record({
    kind: fc.constant('tools_call_update'),
    messageId,
    toolCallUpdates: fc.array(update, { maxLength: 3 }),
  }),
  fc.record({
    kind: fc.constant('tools_call'),
    messageId,
    toolCalls: fc.array(validOrInvalidCall, { maxLength: 2 }),
  }),
  fc
    .record({
      kind: fc.constant('tools_aggregate'),
      messageId,
      toolCalls: fc.uniqueArray(call, { maxLength: 3, selector: (c) => c.toolCallId }),
      toolResults: fc.uniqueArray(result, { maxLength: 3, selector: (r) => r.toolCallId }),
    })
    .map((fields) => {
      const ids = fields.toolCalls.map((c) => c.toolCallId);
      const toolResults = fields.toolResults.filter((r) => ids.includes(r.toolCallId));
      return { ...fields, toolResults };
    }),
  fc
    .tuple(result, fc.boolean(), optional(messageId), fc.boolean())
    .map(([fields, done, owner, suffixed]) => ({
      kind: 'tool_result',
      ...fields,
      done,
      ...(owner !== undefined && {
        messageId: suffixed ? `${owner}_result_${String(fields.toolCallId)}` : owner,
      }),
    })),
  fc
    .record({
      kind: fc.constant('tool_state'),
      toolCallId: named,
      messageId: optional(messageId),
      state: fc.constantFrom(
        ...['running', 'awaiting_approval', 'approved', 'denied'],
        ...['awaiting_answer', 'deferred', 'levitating'],
      ),
      key: optional(fc.constant('k')),
      schema: optional(fc.constant({ type: 'string' })),
      decidedBy: optional(fc.constantFrom('ann', 'bob')),
    })
    .map(withoutUndefined),
  fc
    .record({
      kind: fc.constant('usage'),
      messageId,
      inputTokens: index,
      outputTokens: index,
      cachedInputTokens: index,
      cost: optional(fc.constant(0.25)),
    })
    .map(withoutUndefined),
  fc.record({ kind: fc.constant('error'), message: text }),
  fc
    .record({
      kind: fc.constant('run'),
      runId: fc.constantFrom('r1', 'r2'),
      status: fc.constantFrom('started', 'finished'),
      stopReason: optional(fc.constantFrom('completed', 'deferred')),
    })
    .map(withoutUndefined),
  fc.record({ kind: fc.constant('scene'), step: args }),
  fc.record({
    kind: fc.constant('selection'),
    fallback: fc.boolean(),
    calls: index,
    duration: index,
    ranking: fc.constant([{ tool: 'T', score: 95.5 }]),
  }),
  fc.record({ kind: fc.constant('raw'), delta: text }),
  fc.record({ kind: fc.constant('hologram'), depth: value }),
);

const event = fc.tuple(head, body).map(([one, other]) => ({ ...one, ...other }));

/** The events of a chat, numbered from 1. */
export const chat: fc.Arbitrary<Numbered[]> = fc
  .array(event, { maxLength: 40 })
  .map((events) =>
    events.map((fields, i) => frozen({ ...fields, sequenceNumber: i + 1 } as Numbered)),
  );

/** Times around those of the events, or undefined. */
export const moment: fc.Arbitrary<number | undefined> = optional(
  fc.integer({ min: 1000, max: 1400 }),
);

/** Remove undefined fields, as JSON does. */
function withoutUndefined<T extends object>(fields: T): Partial<T> {
  return Object.fromEntries(
    Object.entries(fields).filter(([, field]) => field !== undefined),
  ) as Partial<T>;
}

/** Freeze a value deeply, so that a reducer that changes its input fails. */
function frozen<T extends StreamEvent>(value: T): T {
  const freeze = (part: unknown): void => {
    if (typeof part !== 'object' || part === null || Object.isFrozen(part)) return;
    Object.freeze(part);
    Object.values(part).forEach(freeze);
  };
  freeze(value);
  return value;
}
