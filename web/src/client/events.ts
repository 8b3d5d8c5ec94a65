/**
 * What comes over the wire, and what it adds up to.
 *
 * Generated from schemas/stream-events.json and schemas/snapshot.json by "npm run generate".
 */

/**
 * Whatever the schemas describe.
 */
export type Wire = StreamEvent | Snapshot;
/**
 * One thing that happened in a chat.
 */
export type StreamEvent = KnownStreamEvent | UnknownStreamEvent;
export type KnownStreamEvent =
  | TextStreamEvent
  | ReasoningStreamEvent
  | ToolsCallUpdateStreamEvent
  | ToolsCallStreamEvent
  | ToolResultStreamEvent
  | ToolsAggregateEvent
  | UsageStreamEvent
  | ErrorStreamEvent
  | RunStreamEvent
  | ToolStateStreamEvent
  | SceneStreamEvent
  | SelectionStreamEvent
  | RawStreamEvent;
export type Role = 'system' | 'user' | 'assistant' | 'tool';
export type RunStatus = 'started' | 'finished';
export type CallState =
  | 'writing'
  | 'pending'
  | 'running'
  | 'awaiting_approval'
  | 'approved'
  | 'awaiting_answer'
  | 'deferred'
  | 'success'
  | 'error'
  | 'denied'
  | 'interrupted'
  | 'timeout';
export type ProblemKind =
  | 'conflict'
  | 'other_chat'
  | 'after_done'
  | 'late_fragment'
  | 'renamed'
  | 'duplicate_call'
  | 'duplicate_result'
  | 'unknown_state'
  | 'no_call';

/**
 * More text of a message. A whole text is one event that is done.
 */
export interface TextStreamEvent {
  kind: 'text';
  /**
   * The chat.
   */
  chatId?: string;
  /**
   * The position in the chat's log, from 1 and without gaps. Not there yet in an event that is not stored.
   */
  sequenceNumber?: number;
  /**
   * When the event was stored, in milliseconds since 1970.
   */
  timestampUtc?: number;
  /**
   * The message that the event adds to.
   */
  messageId: string;
  /**
   * The run that the event belongs to.
   */
  runId?: string;
  /**
   * The model's reply that the event belongs to.
   */
  generationId?: string;
  /**
   * Who speaks.
   */
  role?: Role;
  /**
   * The agent that speaks.
   */
  fromAgent?: string;
  /**
   * Whether this was the last of its message or, of a result, whether it is the result.
   */
  done?: boolean;
  /**
   * Anything else: a JSON object.
   */
  metadata?: {
    [k: string]: unknown;
  };
  /**
   * What is added.
   */
  delta: string;
}
/**
 * More of what the model thinks.
 */
export interface ReasoningStreamEvent {
  kind: 'reasoning';
  /**
   * The chat.
   */
  chatId?: string;
  /**
   * The position in the chat's log, from 1 and without gaps. Not there yet in an event that is not stored.
   */
  sequenceNumber?: number;
  /**
   * When the event was stored, in milliseconds since 1970.
   */
  timestampUtc?: number;
  /**
   * The message that the event adds to.
   */
  messageId: string;
  /**
   * The run that the event belongs to.
   */
  runId?: string;
  /**
   * The model's reply that the event belongs to.
   */
  generationId?: string;
  /**
   * Who speaks.
   */
  role?: Role;
  /**
   * The agent that speaks.
   */
  fromAgent?: string;
  /**
   * Whether this was the last of its message or, of a result, whether it is the result.
   */
  done?: boolean;
  /**
   * Anything else: a JSON object.
   */
  metadata?: {
    [k: string]: unknown;
  };
  /**
   * What is added.
   */
  delta: string;
}
/**
 * Fragments of calls that are being written, held together by id or, where only the first fragment has one, by index.
 */
export interface ToolsCallUpdateStreamEvent {
  kind: 'tools_call_update';
  /**
   * The chat.
   */
  chatId?: string;
  /**
   * The position in the chat's log, from 1 and without gaps. Not there yet in an event that is not stored.
   */
  sequenceNumber?: number;
  /**
   * When the event was stored, in milliseconds since 1970.
   */
  timestampUtc?: number;
  /**
   * The message that the event adds to.
   */
  messageId: string;
  /**
   * The run that the event belongs to.
   */
  runId?: string;
  /**
   * The model's reply that the event belongs to.
   */
  generationId?: string;
  /**
   * Who speaks.
   */
  role?: Role;
  /**
   * The agent that speaks.
   */
  fromAgent?: string;
  /**
   * Whether this was the last of its message or, of a result, whether it is the result.
   */
  done?: boolean;
  /**
   * Anything else: a JSON object.
   */
  metadata?: {
    [k: string]: unknown;
  };
  /**
   * The fragments.
   */
  toolCallUpdates: ToolCallUpdate[];
}
/**
 * A fragment of a native call.  The fragments of a call are held together by its id or, where only the first one has it, by the index.
 */
export interface ToolCallUpdate {
  /**
   * The call's id.
   */
  toolCallId?: string;
  /**
   * The provider's number for the call within the reply.
   */
  index?: number;
  /**
   * The tool's name, or the next piece of it. A repetition of the whole is tolerated.
   */
  functionName?: string;
  /**
   * The next piece of the text of the arguments.
   */
  functionArgs?: string;
}
/**
 * Calls that are whole.
 */
export interface ToolsCallStreamEvent {
  kind: 'tools_call';
  /**
   * The chat.
   */
  chatId?: string;
  /**
   * The position in the chat's log, from 1 and without gaps. Not there yet in an event that is not stored.
   */
  sequenceNumber?: number;
  /**
   * When the event was stored, in milliseconds since 1970.
   */
  timestampUtc?: number;
  /**
   * The message that the event adds to.
   */
  messageId: string;
  /**
   * The run that the event belongs to.
   */
  runId?: string;
  /**
   * The model's reply that the event belongs to.
   */
  generationId?: string;
  /**
   * Who speaks.
   */
  role?: Role;
  /**
   * The agent that speaks.
   */
  fromAgent?: string;
  /**
   * Whether this was the last of its message or, of a result, whether it is the result.
   */
  done?: boolean;
  /**
   * Anything else: a JSON object.
   */
  metadata?: {
    [k: string]: unknown;
  };
  /**
   * The calls.
   */
  toolCalls: ReportedCall[];
}
/**
 * A call, with what keeps it from running.
 */
export interface ReportedCall {
  /**
   * Unique within the reply; the result refers to it.
   */
  toolCallId: string;
  /**
   * The tool, as its contract spells it.
   */
  name: string;
  /**
   * The arguments: a JSON object, numbers as the model spelled them.
   */
  arguments?: {
    [k: string]: unknown;
  };
  /**
   * What made the call: the whole span of the reply, tags and fences included, or the text of a native call's arguments. Empty for a call that nobody wrote.
   */
  raw?: string;
  /**
   * The position among the calls of the reply.
   */
  index: number;
  /**
   * What had to be mended, in order.
   */
  repairs?: Repair[];
  /**
   * Why it cannot run, if it cannot.
   */
  invalid?: InvalidReason;
}
/**
 * One change that made a call acceptable.
 */
export interface Repair {
  /**
   * Where, as a JSON Pointer into the arguments; empty for the call as a whole.
   */
  path: string;
  /**
   * What kind of change.
   */
  kind: string;
  /**
   * What stood there: the text for a change of syntax, the value for a change of type.
   */
  before?: unknown;
  /**
   * What stands there now.
   */
  after?: unknown;
}
/**
 * Why a call cannot run.
 */
export interface InvalidReason {
  /**
   * The kind of fault, such as `schema_violation`.
   */
  reason: string;
  /**
   * A sentence.
   */
  message: string;
}
/**
 * The result of a call or, while it is not done, progress on the way to it. The first result stays.
 */
export interface ToolResultStreamEvent {
  kind: 'tool_result';
  /**
   * The chat.
   */
  chatId?: string;
  /**
   * The position in the chat's log, from 1 and without gaps. Not there yet in an event that is not stored.
   */
  sequenceNumber?: number;
  /**
   * When the event was stored, in milliseconds since 1970.
   */
  timestampUtc?: number;
  /**
   * The message that the event adds to.
   */
  messageId?: string;
  /**
   * The run that the event belongs to.
   */
  runId?: string;
  /**
   * The model's reply that the event belongs to.
   */
  generationId?: string;
  /**
   * Who speaks.
   */
  role?: Role;
  /**
   * The agent that speaks.
   */
  fromAgent?: string;
  /**
   * Whether this was the last of its message or, of a result, whether it is the result.
   */
  done: boolean;
  /**
   * Anything else: a JSON object.
   */
  metadata?: {
    [k: string]: unknown;
  };
  /**
   * The call.
   */
  toolCallId: string;
  /**
   * What the model reads; while it is not done, how far the tool has come.
   */
  result: string;
  /**
   * Whether the call failed.
   */
  isError: boolean;
  /**
   * The tool.
   */
  name?: string;
  /**
   * Why it failed, such as `timeout`.
   */
  errorCode?: string;
  /**
   * How long the tool ran, in seconds.
   */
  duration?: number;
}
/**
 * Calls that stand together in a reply, with their results in the same order. A call without a result is pending.
 */
export interface ToolsAggregateEvent {
  kind: 'tools_aggregate';
  /**
   * The chat.
   */
  chatId?: string;
  /**
   * The position in the chat's log, from 1 and without gaps. Not there yet in an event that is not stored.
   */
  sequenceNumber?: number;
  /**
   * When the event was stored, in milliseconds since 1970.
   */
  timestampUtc?: number;
  /**
   * The message that the event adds to.
   */
  messageId: string;
  /**
   * The run that the event belongs to.
   */
  runId?: string;
  /**
   * The model's reply that the event belongs to.
   */
  generationId?: string;
  /**
   * Who speaks.
   */
  role?: Role;
  /**
   * The agent that speaks.
   */
  fromAgent?: string;
  /**
   * Whether this was the last of its message or, of a result, whether it is the result.
   */
  done?: boolean;
  /**
   * Anything else: a JSON object.
   */
  metadata?: {
    [k: string]: unknown;
  };
  /**
   * The calls.
   */
  toolCalls: ToolCall[];
  /**
   * Their results.
   */
  toolResults: ToolResult[];
}
/**
 * A request by the model to run one tool.
 */
export interface ToolCall {
  /**
   * Unique within the reply; the result refers to it.
   */
  toolCallId: string;
  /**
   * The tool, as its contract spells it.
   */
  name: string;
  /**
   * The arguments: a JSON object, numbers as the model spelled them.
   */
  arguments: {
    [k: string]: unknown;
  };
  /**
   * What made the call: the whole span of the reply, tags and fences included, or the text of a native call's arguments. Empty for a call that nobody wrote.
   */
  raw?: string;
  /**
   * The position among the calls of the reply.
   */
  index: number;
  /**
   * What had to be mended, in order.
   */
  repairs?: Repair[];
}
/**
 * What a tool answered.
 */
export interface ToolResult {
  /**
   * The call that this answers.
   */
  toolCallId: string;
  /**
   * The tool. On the wire it may be left out where the call is known.
   */
  name?: string;
  /**
   * What the model reads.
   */
  result: string;
  /**
   * Whether the call failed.
   */
  isError: boolean;
  /**
   * Why it failed, if it did.
   */
  errorCode?: string;
  /**
   * How long the tool ran, in seconds.
   */
  duration?: number;
}
/**
 * What a model request has used so far.
 */
export interface UsageStreamEvent {
  kind: 'usage';
  /**
   * The chat.
   */
  chatId?: string;
  /**
   * The position in the chat's log, from 1 and without gaps. Not there yet in an event that is not stored.
   */
  sequenceNumber?: number;
  /**
   * When the event was stored, in milliseconds since 1970.
   */
  timestampUtc?: number;
  /**
   * The message that the event adds to.
   */
  messageId: string;
  /**
   * The run that the event belongs to.
   */
  runId?: string;
  /**
   * The model's reply that the event belongs to.
   */
  generationId?: string;
  /**
   * Who speaks.
   */
  role?: Role;
  /**
   * The agent that speaks.
   */
  fromAgent?: string;
  /**
   * Whether this was the last of its message or, of a result, whether it is the result.
   */
  done?: boolean;
  /**
   * Anything else: a JSON object.
   */
  metadata?: {
    [k: string]: unknown;
  };
  /**
   * Tokens of the prompt, cached ones included.
   */
  inputTokens: number;
  /**
   * Tokens of the reply.
   */
  outputTokens: number;
  /**
   * Those of `inputTokens` that the provider had in its cache.
   */
  cachedInputTokens: number;
  /**
   * What the request cost, in the currency of the price table.
   */
  cost?: number;
}
/**
 * Something went wrong.
 */
export interface ErrorStreamEvent {
  kind: 'error';
  /**
   * The chat.
   */
  chatId?: string;
  /**
   * The position in the chat's log, from 1 and without gaps. Not there yet in an event that is not stored.
   */
  sequenceNumber?: number;
  /**
   * When the event was stored, in milliseconds since 1970.
   */
  timestampUtc?: number;
  /**
   * The message that the event adds to.
   */
  messageId?: string;
  /**
   * The run that the event belongs to.
   */
  runId?: string;
  /**
   * The model's reply that the event belongs to.
   */
  generationId?: string;
  /**
   * Who speaks.
   */
  role?: Role;
  /**
   * The agent that speaks.
   */
  fromAgent?: string;
  /**
   * Whether this was the last of its message or, of a result, whether it is the result.
   */
  done?: boolean;
  /**
   * Anything else: a JSON object.
   */
  metadata?: {
    [k: string]: unknown;
  };
  /**
   * A sentence.
   */
  message: string;
  /**
   * A name for what went wrong.
   */
  code?: string;
  /**
   * The call that it is about, if it is about one.
   */
  toolCallId?: string;
}
/**
 * A run began or ended.
 */
export interface RunStreamEvent {
  kind: 'run';
  /**
   * The chat.
   */
  chatId?: string;
  /**
   * The position in the chat's log, from 1 and without gaps. Not there yet in an event that is not stored.
   */
  sequenceNumber?: number;
  /**
   * When the event was stored, in milliseconds since 1970.
   */
  timestampUtc?: number;
  /**
   * The message that the event adds to.
   */
  messageId?: string;
  /**
   * The run that the event belongs to.
   */
  runId: string;
  /**
   * The model's reply that the event belongs to.
   */
  generationId?: string;
  /**
   * Who speaks.
   */
  role?: Role;
  /**
   * The agent that speaks.
   */
  fromAgent?: string;
  /**
   * Whether this was the last of its message or, of a result, whether it is the result.
   */
  done?: boolean;
  /**
   * Anything else: a JSON object.
   */
  metadata?: {
    [k: string]: unknown;
  };
  /**
   * Whether it began or ended.
   */
  status: RunStatus;
  /**
   * Why it ended, such as `completed` or `interrupted`.
   */
  stopReason?: string;
  /**
   * A sentence that says what went wrong.
   */
  error?: string;
}
/**
 * What becomes of a call.
 */
export interface ToolStateStreamEvent {
  kind: 'tool_state';
  /**
   * The chat.
   */
  chatId?: string;
  /**
   * The position in the chat's log, from 1 and without gaps. Not there yet in an event that is not stored.
   */
  sequenceNumber?: number;
  /**
   * When the event was stored, in milliseconds since 1970.
   */
  timestampUtc?: number;
  /**
   * The message that the event adds to.
   */
  messageId?: string;
  /**
   * The run that the event belongs to.
   */
  runId?: string;
  /**
   * The model's reply that the event belongs to.
   */
  generationId?: string;
  /**
   * Who speaks.
   */
  role?: Role;
  /**
   * The agent that speaks.
   */
  fromAgent?: string;
  /**
   * Whether this was the last of its message or, of a result, whether it is the result.
   */
  done?: boolean;
  /**
   * Anything else: a JSON object.
   */
  metadata?: {
    [k: string]: unknown;
  };
  /**
   * The call.
   */
  toolCallId: string;
  /**
   * `running`, `awaiting_approval`, `approved`, `denied`, `awaiting_answer` or `deferred`.
   */
  state: string;
  /**
   * What to resolve, where somebody has to.
   */
  key?: string;
  /**
   * What is asked.
   */
  question?: string;
  /**
   * What an answer has to be, as JSON Schema.
   */
  schema?: unknown;
  /**
   * Why approval is needed, or was given or refused.
   */
  reason?: string;
  /**
   * Who gave or refused approval.
   */
  decidedBy?: string;
}
/**
 * A step of a scene run.
 */
export interface SceneStreamEvent {
  kind: 'scene';
  /**
   * The chat.
   */
  chatId?: string;
  /**
   * The position in the chat's log, from 1 and without gaps. Not there yet in an event that is not stored.
   */
  sequenceNumber?: number;
  /**
   * When the event was stored, in milliseconds since 1970.
   */
  timestampUtc?: number;
  /**
   * The message that the event adds to.
   */
  messageId?: string;
  /**
   * The run that the event belongs to.
   */
  runId?: string;
  /**
   * The model's reply that the event belongs to.
   */
  generationId?: string;
  /**
   * Who speaks.
   */
  role?: Role;
  /**
   * The agent that speaks.
   */
  fromAgent?: string;
  /**
   * Whether this was the last of its message or, of a result, whether it is the result.
   */
  done?: boolean;
  /**
   * Anything else: a JSON object.
   */
  metadata?: {
    [k: string]: unknown;
  };
  /**
   * The step.
   */
  step: {
    [k: string]: unknown;
  };
}
/**
 * A tool was chosen by the scores that a model gave.
 */
export interface SelectionStreamEvent {
  kind: 'selection';
  /**
   * The chat.
   */
  chatId?: string;
  /**
   * The position in the chat's log, from 1 and without gaps. Not there yet in an event that is not stored.
   */
  sequenceNumber?: number;
  /**
   * When the event was stored, in milliseconds since 1970.
   */
  timestampUtc?: number;
  /**
   * The message that the event adds to.
   */
  messageId?: string;
  /**
   * The run that the event belongs to.
   */
  runId?: string;
  /**
   * The model's reply that the event belongs to.
   */
  generationId?: string;
  /**
   * Who speaks.
   */
  role?: Role;
  /**
   * The agent that speaks.
   */
  fromAgent?: string;
  /**
   * Whether this was the last of its message or, of a result, whether it is the result.
   */
  done?: boolean;
  /**
   * Anything else: a JSON object.
   */
  metadata?: {
    [k: string]: unknown;
  };
  /**
   * The tool that was chosen, if one was.
   */
  tool?: string;
  /**
   * Its score, from 0 to 100.
   */
  score?: number;
  /**
   * Whether it is the one for when nothing else fits.
   */
  fallback: boolean;
  /**
   * How often a model was asked.
   */
  calls: number;
  /**
   * How long it took, in seconds.
   */
  duration: number;
  /**
   * The tools that were asked about, best first.
   */
  ranking: RankedTool[];
}
/**
 * A tool that was asked about.
 */
export interface RankedTool {
  /**
   * The tool.
   */
  tool: string;
  /**
   * Its score, from 0 to 100.
   */
  score?: number;
  /**
   * Why it has none.
   */
  error?: string;
}
/**
 * What the model wrote, as it came.
 */
export interface RawStreamEvent {
  kind: 'raw';
  /**
   * The chat.
   */
  chatId?: string;
  /**
   * The position in the chat's log, from 1 and without gaps. Not there yet in an event that is not stored.
   */
  sequenceNumber?: number;
  /**
   * When the event was stored, in milliseconds since 1970.
   */
  timestampUtc?: number;
  /**
   * The message that the event adds to.
   */
  messageId?: string;
  /**
   * The run that the event belongs to.
   */
  runId?: string;
  /**
   * The model's reply that the event belongs to.
   */
  generationId?: string;
  /**
   * Who speaks.
   */
  role?: Role;
  /**
   * The agent that speaks.
   */
  fromAgent?: string;
  /**
   * Whether this was the last of its message or, of a result, whether it is the result.
   */
  done?: boolean;
  /**
   * Anything else: a JSON object.
   */
  metadata?: {
    [k: string]: unknown;
  };
  /**
   * What is added.
   */
  delta: string;
}
/**
 * An event of a kind that this version does not know.
 */
export interface UnknownStreamEvent {
  /**
   * The chat.
   */
  chatId?: string;
  /**
   * The position in the chat's log, from 1 and without gaps. Not there yet in an event that is not stored.
   */
  sequenceNumber?: number;
  /**
   * When the event was stored, in milliseconds since 1970.
   */
  timestampUtc?: number;
  /**
   * The message that the event adds to.
   */
  messageId?: string;
  /**
   * The run that the event belongs to.
   */
  runId?: string;
  /**
   * The model's reply that the event belongs to.
   */
  generationId?: string;
  /**
   * Who speaks.
   */
  role?: Role;
  /**
   * The agent that speaks.
   */
  fromAgent?: string;
  /**
   * Whether this was the last of its message or, of a result, whether it is the result.
   */
  done?: boolean;
  /**
   * Anything else: a JSON object.
   */
  metadata?: {
    [k: string]: unknown;
  };
  kind: string;
}
/**
 * A chat, or what is known of it, as somebody would want to see it.
 */
export interface Snapshot {
  /**
   * The chat, once an event has named it.
   */
  chatId?: string;
  /**
   * The end of the gapless beginning: everything up to here has come.
   */
  lastSequenceNumber: number;
  /**
   * What has not come although something after it has, as first and last number; the first hundred ranges.
   */
  missing: [number, number][];
  /**
   * What was said and done, in the order in which it began.
   */
  messages: SnapshotMessage[];
  /**
   * The runs, in the order in which they were first heard of.
   */
  runs: SnapshotRun[];
  /**
   * The steps of scene runs.
   */
  scenes: SnapshotScene[];
  /**
   * The tools that were chosen.
   */
  selections: SnapshotSelection[];
  /**
   * What the model wrote, by reply.
   */
  raw: SnapshotRaw[];
  /**
   * What could not be taken as it came, by number; the first hundred.
   */
  problems: SnapshotProblem[];
}
/**
 * One message. Which of the optional fields are there depends on the kind.
 */
export interface SnapshotMessage {
  /**
   * The message.
   */
  messageId: string;
  /**
   * `text`, `reasoning`, `tools_call` (calls), `tools_aggregate` (calls whose aggregate has come), `usage`, `error`, or a kind that this version does not know.
   */
  kind: string;
  /**
   * Who speaks.
   */
  role: Role;
  /**
   * The first event that spoke of it; no two messages have the same.
   */
  sequenceNumber: number;
  /**
   * Whether nothing more is to come.
   */
  done: boolean;
  /**
   * The run that it belongs to.
   */
  runId?: string;
  /**
   * The model's reply that it belongs to.
   */
  generationId?: string;
  /**
   * The agent that speaks.
   */
  fromAgent?: string;
  /**
   * Anything else: a JSON object.
   */
  metadata?: {
    [k: string]: unknown;
  };
  /**
   * Of texts and thoughts: what was said so far.
   */
  text?: string;
  /**
   * Of calls: the calls.
   */
  toolCalls?: SnapshotCall[];
  /**
   * Of usage: tokens of the prompt, cached ones included.
   */
  inputTokens?: number;
  /**
   * Of usage: tokens of the reply.
   */
  outputTokens?: number;
  /**
   * Of usage: those of `inputTokens` that the provider had in its cache.
   */
  cachedInputTokens?: number;
  /**
   * Of usage: what the request cost.
   */
  cost?: number;
  /**
   * Of an error: a sentence.
   */
  message?: string;
  /**
   * Of an error: a name for what went wrong.
   */
  code?: string;
  /**
   * Of an error: the call that it is about.
   */
  toolCallId?: string;
  /**
   * Of a kind that this version does not know: the event's own fields.
   */
  unknown?: {
    [k: string]: unknown;
  };
}
/**
 * One call.
 */
export interface SnapshotCall {
  /**
   * The call; `call_<position>` while no id has come.
   */
  toolCallId: string;
  /**
   * The tool; empty while nobody has named it.
   */
  name: string;
  /**
   * The position among the calls of the reply.
   */
  index: number;
  /**
   * The arguments as the fragments spelled them; empty if none came.
   */
  argumentsText: string;
  /**
   * The arguments, once the call is whole.
   */
  arguments?: {
    [k: string]: unknown;
  };
  /**
   * What had to be mended, if anything had.
   */
  repairs?: Repair[];
  /**
   * Why it cannot run.
   */
  invalid?: InvalidReason;
  /**
   * How far it has come.
   */
  state: CallState;
  /**
   * What to resolve, where somebody has to.
   */
  key?: string;
  /**
   * What is asked.
   */
  question?: string;
  /**
   * What an answer has to be, as JSON Schema.
   */
  schema?: unknown;
  /**
   * Why approval is needed, or was given or refused.
   */
  reason?: string;
  /**
   * Whether approval was given, once it was decided on.
   */
  approved?: boolean;
  /**
   * Who gave or refused approval.
   */
  decidedBy?: string;
  /**
   * How far the tool has come, latest last; the last twenty.
   */
  progress: string[];
  /**
   * What the tool answered.
   */
  result?: string;
  /**
   * Whether it failed. There when the result is.
   */
  isError?: boolean;
  /**
   * Why it failed.
   */
  errorCode?: string;
  /**
   * How long the tool ran, in seconds.
   */
  duration?: number;
  /**
   * When it began to run, in milliseconds since 1970.
   */
  startedUtc?: number;
  /**
   * When its result was stored, in milliseconds since 1970.
   */
  finishedUtc?: number;
}
/**
 * One run.
 */
export interface SnapshotRun {
  /**
   * The run.
   */
  runId: string;
  /**
   * Whether it is at work.
   */
  status: RunStatus;
  /**
   * Why it ended.
   */
  stopReason?: string;
  /**
   * A sentence that says what went wrong.
   */
  error?: string;
}
/**
 * One step of a scene run.
 */
export interface SnapshotScene {
  /**
   * The event that told it.
   */
  sequenceNumber: number;
  /**
   * When, in milliseconds since 1970.
   */
  timestampUtc?: number;
  /**
   * The run.
   */
  runId?: string;
  /**
   * The model's reply.
   */
  generationId?: string;
  /**
   * The step.
   */
  step: {
    [k: string]: unknown;
  };
}
/**
 * One choice of a tool.
 */
export interface SnapshotSelection {
  /**
   * The event that told it.
   */
  sequenceNumber: number;
  /**
   * When, in milliseconds since 1970.
   */
  timestampUtc?: number;
  /**
   * The run.
   */
  runId?: string;
  /**
   * The model's reply.
   */
  generationId?: string;
  /**
   * The tool that was chosen, if one was.
   */
  tool?: string;
  /**
   * Its score, from 0 to 100.
   */
  score?: number;
  /**
   * Whether it is the one for when nothing else fits.
   */
  fallback: boolean;
  /**
   * How often a model was asked.
   */
  calls: number;
  /**
   * How long it took, in seconds.
   */
  duration: number;
  /**
   * The tools that were asked about, best first.
   */
  ranking: RankedTool[];
}
/**
 * What the model wrote in one reply.
 */
export interface SnapshotRaw {
  /**
   * The reply.
   */
  generationId?: string;
  /**
   * What was written so far.
   */
  text: string;
}
/**
 * Something that could not be taken as it came.
 */
export interface SnapshotProblem {
  /**
   * What is wrong.
   */
  kind: ProblemKind;
  /**
   * The event at fault.
   */
  sequenceNumber: number;
  /**
   * The call that it is about.
   */
  toolCallId?: string;
}
