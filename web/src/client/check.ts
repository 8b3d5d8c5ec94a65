/**
 * What an event has to be, so that the rules by which events add up can rely on it.
 *
 * As in the Rust core: a field that is null is as good as absent, and what nobody knows is let
 * through. `tests/cases/lifecycle/invalid.json` holds both to the same verdicts.
 */

import type { StreamEvent, ToolsAggregateEvent } from './events.ts';

/** What keeps a value from being an event. */
export interface Fault {
  /** Where, as a JSON Pointer; empty for the event as a whole. */
  path: string;
  /** What should be there, such as `a string`. */
  expected: string;
}

/** The event does not say what events of its kind have to say. */
export class StreamEventError extends Error {
  override readonly name = 'StreamEventError';
  readonly path: string;

  constructor({ path, expected }: Fault) {
    super(`stream event${path === '' ? '' : ` at ${path}`}: expected ${expected}`);
    this.path = path;
  }
}

/** What is wrong with a value that should be there. */
type Check = (value: unknown, path: string) => Fault | undefined;
type Fields = Record<string, unknown>;

const simple =
  (expected: string, fits: (value: unknown) => boolean): Check =>
  (value, path) =>
    fits(value) ? undefined : { path, expected };

const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const text = simple('a string', (value) => typeof value === 'string');
const flag = simple('true or false', (value) => typeof value === 'boolean');
const number = simple('a number', Number.isFinite);
const count = simple('a whole number from 0 up', (v) => Number.isSafeInteger(v) && Number(v) >= 0);
const position = simple(
  'a whole number from 1 up',
  (v) => Number.isSafeInteger(v) && Number(v) > 0,
);
const object = simple('an object', isObject);
const anything: Check = () => undefined;

const oneOf = (...names: string[]): Check =>
  simple(`one of ${names.join(', ')}`, (value) => names.includes(String(value)));

const list =
  (item: Check): Check =>
  (value, path) => {
    if (!Array.isArray(value)) return { path, expected: 'a list' };
    for (const [i, member] of value.entries()) {
      const fault = item(member, `${path}/${i}`);
      if (fault) return fault;
    }
    return undefined;
  };

/** An object with these fields, in the order in which they are looked at. */
function fields(required: Record<string, Check>, optional: Record<string, Check> = {}): Check {
  const checks = [
    ...Object.entries(required).map(([name, check]) => ({ name, check, needed: true })),
    ...Object.entries(optional).map(([name, check]) => ({ name, check, needed: false })),
  ];
  return (value, path) => {
    if (!isObject(value)) return { path, expected: 'an object' };
    for (const { name, check, needed } of checks) {
      const given = Object.hasOwn(value, name) ? value[name] : undefined;
      if (!needed && given == null) continue;
      const fault = check(given, `${path}/${name}`);
      if (fault) return fault;
    }
    return undefined;
  };
}

const repair = fields({ kind: text, path: text });
const optionalOfCall = { index: count, raw: text, repairs: list(repair) };
const call = fields({ toolCallId: text, name: text, arguments: object }, optionalOfCall);
const invalidCall = fields(
  { invalid: fields({ reason: text, message: text }), toolCallId: text, name: text },
  { ...optionalOfCall, arguments: object },
);
const toldCall: Check = (value, path) =>
  (isObject(value) && value.invalid != null ? invalidCall : call)(value, path);

const result = fields(
  { toolCallId: text, name: text, result: text },
  { isError: flag, errorCode: text, duration: number },
);
const update = fields(
  {},
  { toolCallId: text, index: count, functionName: text, functionArgs: text },
);
const ranked = fields({ tool: text }, { score: number, error: text });

const exchange = fields({ messageId: text, toolCalls: list(call), toolResults: list(result) });

/** An aggregate has each call once, and at most one result for each. */
const aggregate: Check = (value, path) => {
  const fault = exchange(value, path);
  if (fault) return fault;
  const { toolCalls, toolResults } = value as ToolsAggregateEvent;
  const open = new Set<string>();
  for (const [i, { toolCallId }] of toolCalls.entries()) {
    if (open.has(toolCallId)) return { path: `${path}/toolCalls/${i}`, expected: 'another id' };
    open.add(toolCallId);
  }
  for (const [i, { toolCallId }] of toolResults.entries()) {
    const expected = 'the only result of one of its calls';
    if (!open.delete(toolCallId)) return { path: `${path}/toolResults/${i}`, expected };
  }
  return undefined;
};

/** What events of every kind may say. */
const head = fields(
  { kind: text },
  {
    chatId: text,
    sequenceNumber: position,
    timestampUtc: count,
    messageId: text,
    runId: text,
    generationId: text,
    role: oneOf('system', 'user', 'assistant', 'tool'),
    fromAgent: text,
    done: flag,
    metadata: object,
  },
);

const BODIES = new Map<string, Check>([
  ['text', fields({ messageId: text, delta: text })],
  ['reasoning', fields({ messageId: text, delta: text })],
  ['raw', fields({ delta: text })],
  ['tools_call_update', fields({ messageId: text, toolCallUpdates: list(update) })],
  ['tools_call', fields({ messageId: text, toolCalls: list(toldCall) })],
  ['tools_aggregate', aggregate],
  [
    'tool_result',
    fields(
      { toolCallId: text, result: text, done: flag },
      { isError: flag, name: text, errorCode: text, duration: number },
    ),
  ],
  [
    'tool_state',
    fields(
      { toolCallId: text, state: text },
      { key: text, question: text, schema: anything, reason: text },
    ),
  ],
  [
    'usage',
    fields(
      { messageId: text },
      { inputTokens: count, outputTokens: count, cachedInputTokens: count, cost: number },
    ),
  ],
  ['error', fields({ message: text }, { code: text, toolCallId: text })],
  [
    'run',
    fields(
      { runId: text, status: oneOf('started', 'finished') },
      { stopReason: text, error: text },
    ),
  ],
  ['scene', fields({ step: object })],
  [
    'selection',
    fields(
      { ranking: list(ranked) },
      { tool: text, score: number, fallback: flag, calls: count, duration: number },
    ),
  ],
]);

/** What is wrong with an event, if anything is. */
export function faultIn(event: unknown): Fault | undefined {
  const fault = head(event, '');
  if (fault) return fault;
  return BODIES.get((event as StreamEvent).kind)?.(event, '');
}
