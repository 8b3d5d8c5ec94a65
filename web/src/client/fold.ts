/**
 * The reduction of events to state: one at a time, in the order of their sequence numbers.
 *
 * The rules are those of the Rust core; the cases in `tests/cases/lifecycle` apply to both. The
 * resulting state does not depend on the time; `view.ts` converts it for display.
 */

import type {
  KnownStreamEvent,
  ProblemKind,
  SnapshotProblem,
  SnapshotRaw,
  SnapshotRun,
  SnapshotScene,
  SnapshotSelection,
  ReportedCall,
  ToolCall,
  ToolCallUpdate,
  ToolResultStreamEvent,
  ToolStateStreamEvent,
} from './events.ts';
import { withoutNulls } from './sharing.ts';
import type { Call, Message, Numbered, Outcome, ToolStateName } from './state.ts';

/** An outcome without its call, and the event that reported it first. */
interface Orphan {
  outcome: Outcome;
  sequenceNumber: number;
  toolCallId: string;
}

/** Fields common to all events; an unknown event has further fields. */
const ENVELOPE = new Set(
  'kind chatId sequenceNumber timestampUtc messageId runId generationId role fromAgent done metadata'.split(
    ' ',
  ),
);

/** Details that a state may include. */
const STATE_DETAILS = ['key', 'question', 'schema', 'reason', 'decidedBy'] as const;

/** Maximum number of progress values kept for a call, and of problems reported. */
const PROGRESS = 20;
export const PROBLEMS = 100;

/** State after a sequence of events. */
export class Fold {
  chatId: string | undefined;
  readonly messages: Message[] = [];
  readonly runs = new Map<string, SnapshotRun>();
  readonly scenes: SnapshotScene[] = [];
  readonly selections: SnapshotSelection[] = [];
  /** Entries by reply; `undefined` stands for the reply without an id. */
  readonly raw = new Map<string | undefined, SnapshotRaw>();
  readonly #problems: SnapshotProblem[] = [];
  readonly #messageByKey = new Map<string, Message>();
  /** Calls by message and id, and the latest by id alone. */
  readonly #calls = new Map<string, Call>();
  readonly #callById = new Map<string, Call>();
  readonly #orphans = new Map<string, Orphan>();

  /** The problems found so far, with their sequence numbers. */
  get problems(): SnapshotProblem[] {
    const missing = [...this.#orphans.values()].map(({ sequenceNumber, toolCallId }) => ({
      kind: 'no_call' as const,
      sequenceNumber,
      toolCallId,
    }));
    return [...this.#problems, ...missing];
  }

  /** Apply the next event. */
  push(raw: Numbered): void {
    const event = withoutNulls(raw);
    if (event.chatId != null) {
      this.chatId ??= event.chatId;
      if (event.chatId !== this.chatId) {
        this.#problem('other_chat', event);
        return;
      }
    }
    if (isKnownEvent(event)) this.#take(event);
    else this.#takeUnknown(raw, event);
  }

  #take(event: Numbered<KnownStreamEvent>): void {
    switch (event.kind) {
      case 'text':
      case 'reasoning':
        this.#takeText(event);
        break;
      case 'tools_call_update': {
        const message = this.#callsMessage(event);
        for (const update of event.toolCallUpdates) {
          this.#takeFragment(message, event, withoutNulls(update));
        }
        break;
      }
      case 'tools_call': {
        const message = this.#callsMessage(event);
        for (const call of event.toolCalls) this.#takeCall(message, event, withoutNulls(call));
        break;
      }
      case 'tools_aggregate': {
        const message = this.#callsMessage(event);
        message.fields.kind = 'tools_aggregate';
        message.aggregated = true;
        for (const call of event.toolCalls) this.#takeCall(message, event, withoutNulls(call));
        for (const received of event.toolResults) {
          const result = withoutNulls(received);
          const outcome = this.#outcome(event, result.toolCallId);
          outcome.result ??= result;
        }
        break;
      }
      case 'tool_result':
        this.#takeResult(event);
        break;
      case 'tool_state':
        this.#takeState(event);
        break;
      case 'usage': {
        const { fields } = this.#message(`usage ${event.messageId}`, event, event.messageId);
        const none = { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0 };
        const usage = given(event, ['inputTokens', 'outputTokens', 'cachedInputTokens', 'cost']);
        delete fields.cost;
        Object.assign(fields, none, usage, { done: true });
        break;
      }
      case 'error': {
        const { fields } = this.#single(event);
        fields.done = true;
        Object.assign(fields, given(event, ['message', 'code', 'toolCallId']));
        break;
      }
      case 'run': {
        const { runId, status } = event;
        const ending = given(event, ['stopReason', 'error']);
        this.runs.set(runId, { runId, status, ...ending });
        break;
      }
      case 'scene':
        this.scenes.push({ ...occasion(event), step: event.step });
        break;
      case 'selection': {
        const known = given(event, ['tool', 'score', 'fallback', 'calls', 'duration']);
        const ranking = event.ranking.map(withoutNulls);
        const counts = { fallback: false, calls: 0, duration: 0 };
        this.selections.push({ ...occasion(event), ...counts, ...known, ranking });
        break;
      }
      case 'raw': {
        const { generationId } = event;
        const text = (this.raw.get(generationId)?.text ?? '') + event.delta;
        this.raw.set(generationId, generationId === undefined ? { text } : { generationId, text });
        break;
      }
    }
  }

  #takeText(event: Numbered<KnownStreamEvent & { kind: 'text' | 'reasoning' }>): void {
    const key = `${event.kind} ${event.messageId}`;
    const wasDone = this.#messageByKey.get(key)?.fields.done ?? false;
    if (wasDone && event.delta !== '') this.#problem('after_done', event);
    const { fields } = this.#message(key, event, event.messageId);
    fields.text = (fields.text ?? '') + event.delta;
  }

  #takeUnknown(raw: Numbered, event: Numbered): void {
    const { fields } = this.#single(event);
    fields.unknown = Object.fromEntries(
      Object.entries(raw).filter(([name]) => !ENVELOPE.has(name)),
    );
  }

  #takeFragment(message: Message, event: Numbered, update: ToolCallUpdate): void {
    const { index, functionArgs = '' } = update;
    const call = this.#fragmentOf(message, update) ?? this.#addCall(message);
    if (update.toolCallId && call.id === undefined) this.#identify(call, update.toolCallId);
    if (index !== undefined) {
      message.byIndex?.set(index, call);
      call.fragmentIndex ??= index;
    }
    touch(call.outcome, event);
    if (call.whole) {
      if (functionArgs !== '') this.#problem('late_fragment', event, call.id);
      return;
    }
    if (update.functionName && update.functionName !== call.name) {
      if (call.text === '') call.name += update.functionName;
      else this.#problem('renamed', event, call.id);
    }
    call.text += functionArgs;
  }

  /** Return the call that a fragment continues, or undefined if it starts one. */
  #fragmentOf(message: Message, update: ToolCallUpdate): Call | undefined {
    const { toolCallId, index, functionName } = update;
    const atIndex = index === undefined ? undefined : message.byIndex?.get(index);
    if (toolCallId) {
      const known = this.#calls.get(callKey(message.fields.messageId, toolCallId));
      return known ?? (atIndex?.id === undefined ? atIndex : undefined);
    }
    if (index !== undefined) return atIndex;
    return functionName ? undefined : message.calls?.at(-1);
  }

  #takeCall(
    message: Message,
    event: Numbered<KnownStreamEvent & { kind: 'tools_call' | 'tools_aggregate' }>,
    reported: ReportedCall | ToolCall,
  ): void {
    const place: Partial<ReportedCall> = reported;
    const index = place.index ?? 0;
    let call = this.#calls.get(callKey(message.fields.messageId, reported.toolCallId));
    if (!call) {
      const atIndex = message.byIndex?.get(index);
      const unnamed = atIndex && atIndex.id === undefined && !atIndex.whole;
      call = unnamed ? atIndex : this.#addCall(message);
      this.#identify(call, reported.toolCallId);
    }
    touch(call.outcome, event);
    if (!call.whole) call.whole = { ...reported, index };
    else if (event.kind === 'tools_call')
      this.#problem('duplicate_call', event, reported.toolCallId);
    else if (reported.arguments !== undefined) call.whole.arguments ??= reported.arguments;
  }

  #takeResult(event: Numbered<ToolResultStreamEvent>): void {
    const outcome = this.#outcome(event, event.toolCallId);
    if (!event.done) {
      outcome.progress = [...outcome.progress, event.result].slice(-PROGRESS);
      this.#started(outcome, event);
    } else if (outcome.result) {
      this.#problem('duplicate_result', event, event.toolCallId);
    } else {
      outcome.result = event;
      if (event.timestampUtc !== undefined) outcome.finished = event.timestampUtc;
    }
  }

  #takeState(event: Numbered<ToolStateStreamEvent>): void {
    const outcome = this.#outcome(event, event.toolCallId);
    if (!isStateName(event.state)) {
      this.#problem('unknown_state', event, event.toolCallId);
      return;
    }
    if (event.state === 'running') this.#started(outcome, event);
    if (event.state === 'approved' || event.state === 'denied') {
      outcome.details.approved = event.state === 'approved';
    }
    outcome.state = event.state;
    Object.assign(outcome.details, given(event, STATE_DETAILS));
  }

  #started(outcome: Outcome, event: Numbered<KnownStreamEvent>): void {
    outcome.state = 'running';
    if (event.timestampUtc !== undefined) outcome.started ??= event.timestampUtc;
  }

  /** Return the outcome of the call of an event; the call itself may arrive later. */
  #outcome(event: Numbered<KnownStreamEvent>, id: string): Outcome {
    const owner = ownerOf(event, id);
    const key = owner === undefined ? callKey(undefined, id) : callKey(owner, id);
    const call = owner === undefined ? this.#callById.get(id) : this.#calls.get(key);
    let outcome = call?.outcome ?? this.#orphans.get(key)?.outcome;
    if (!outcome) {
      outcome = { progress: [], details: {} };
      const { sequenceNumber } = event;
      this.#orphans.set(key, { outcome, sequenceNumber, toolCallId: id });
    }
    touch(outcome, event);
    return outcome;
  }

  #addCall(message: Message): Call {
    const calls = (message.calls ??= []);
    const outcome: Outcome = { progress: [], details: {} };
    const call: Call = { name: '', text: '', position: calls.length, outcome, message };
    outcome.call = call;
    calls.push(call);
    return call;
  }

  /** Assign an id to a call, and merge what was reported for this id before. */
  #identify(call: Call, id: string): void {
    call.id = id;
    const key = callKey(call.message.fields.messageId, id);
    this.#calls.set(key, call);
    this.#callById.set(id, call);
    const orphanKey = this.#orphans.has(key) ? key : callKey(undefined, id);
    const orphan = this.#orphans.get(orphanKey);
    if (!orphan) return;
    this.#orphans.delete(orphanKey);
    const { last } = call.outcome;
    call.outcome = orphan.outcome;
    call.outcome.call = call;
    if (last !== undefined) call.outcome.last = Math.max(call.outcome.last ?? 0, last);
  }

  #callsMessage(event: Numbered<KnownStreamEvent> & { messageId: string }): Message {
    const message = this.#message(`calls ${event.messageId}`, event, event.messageId, 'tools_call');
    message.calls ??= [];
    message.byIndex ??= new Map();
    return message;
  }

  /** Return the message of an event that is a message by itself. */
  #single(event: Numbered): Message {
    const number = event.sequenceNumber;
    return this.#message(`#${number}`, event, event.messageId ?? `${event.kind}.${number}`);
  }

  #message(key: string, event: Numbered, messageId: string, kind: string = event.kind): Message {
    let message = this.#messageByKey.get(key);
    if (!message) {
      const { sequenceNumber, role } = event;
      const fields = { messageId, kind, role: role ?? 'assistant', sequenceNumber, done: false };
      message = { key, fields, aggregated: false, stale: true };
      this.#messageByKey.set(key, message);
      this.messages.push(message);
    }
    const { fields } = message;
    if (event.runId != null) fields.runId ??= event.runId;
    if (event.generationId != null) fields.generationId ??= event.generationId;
    if (event.fromAgent != null) fields.fromAgent ??= event.fromAgent;
    if (event.metadata != null) fields.metadata ??= event.metadata;
    if (event.done) fields.done = true;
    message.stale = true;
    return message;
  }

  #problem(kind: ProblemKind, event: Numbered, toolCallId?: string): void {
    // They come in the order of their numbers, so none after these would be reported.
    if (this.#problems.length >= PROBLEMS) return;
    const { sequenceNumber } = event;
    this.#problems.push(
      toolCallId === undefined ? { kind, sequenceNumber } : { kind, sequenceNumber, toolCallId },
    );
  }
}

const KNOWN: Record<KnownStreamEvent['kind'], true> = {
  text: true,
  reasoning: true,
  tools_call_update: true,
  tools_call: true,
  tool_result: true,
  tools_aggregate: true,
  usage: true,
  error: true,
  run: true,
  tool_state: true,
  scene: true,
  selection: true,
  raw: true,
};

/** Return true for an event of a kind that this version knows, with the fields of its kind. */
export function isKnownEvent(event: Numbered): event is Numbered<KnownStreamEvent> {
  return Object.hasOwn(KNOWN, event.kind);
}

const STATES: Record<ToolStateName, true> = {
  running: true,
  awaiting_approval: true,
  approved: true,
  denied: true,
  awaiting_answer: true,
  deferred: true,
};

function isStateName(state: string): state is ToolStateName {
  return Object.hasOwn(STATES, state);
}

/** Return the key of a call from its message and id; the length keeps the two apart. */
function callKey(messageId: string | undefined, id: string): string {
  return messageId === undefined ? `:${id}` : `${messageId.length}:${messageId}${id}`;
}

/** Return the message of the call that a result or state belongs to, if the event has it. */
function ownerOf(event: Numbered<KnownStreamEvent>, id: string): string | undefined {
  const { messageId, generationId } = event;
  if (messageId !== undefined) {
    const suffix = `_result_${id}`;
    return messageId.endsWith(suffix) ? messageId.slice(0, -suffix.length) : messageId;
  }
  return generationId === undefined ? undefined : `${generationId}.calls`;
}

function touch(outcome: Outcome, event: Numbered): void {
  const { timestampUtc } = event;
  if (timestampUtc != null) outcome.last = Math.max(outcome.last ?? timestampUtc, timestampUtc);
  if (outcome.call) outcome.call.message.stale = true;
}

function occasion(
  event: Numbered<KnownStreamEvent>,
): Pick<SnapshotScene, 'sequenceNumber' | 'timestampUtc' | 'runId' | 'generationId'> {
  const { sequenceNumber } = event;
  return { sequenceNumber, ...given(event, ['timestampUtc', 'runId', 'generationId']) };
}

/** Return those of the named fields that are present. */
function given<T extends object, N extends keyof T>(
  from: T,
  names: readonly N[],
): Partial<Pick<T, N>> {
  const fields: Partial<Pick<T, N>> = {};
  for (const name of names) if (from[name] !== undefined) fields[name] = from[name];
  return fields;
}
