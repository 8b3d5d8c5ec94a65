/** Conversion of the reduced state to messages and calls for display at a given time. */

import type { CallState, SnapshotCall, SnapshotMessage, SnapshotRun } from './events.ts';
import type { Fold } from './fold.ts';
import { keep, share, withoutNulls } from './sharing.ts';
import type { Call, Message } from './state.ts';

/** A message as it was shown, and the time range in which it is shown unchanged. */
interface Shown {
  view: SnapshotMessage;
  run: SnapshotRun | undefined;
  /** Start of the range in ms since 1970: fewer calls have timed out before it. */
  after: number | undefined;
  /** End of the range: the next call times out then. */
  until: number;
}

/** A time, and the timeout of calls. */
export interface Moment {
  /** Milliseconds since 1970; without it nothing times out. */
  now: number | undefined;
  pendingTimeout: number;
}

const FINISHED: readonly CallState[] = ['success', 'error', 'denied', 'interrupted', 'timeout'];
/** States of calls that wait for the user or another process: they do not time out. */
const WAITING: readonly CallState[] = ['awaiting_approval', 'awaiting_answer', 'deferred'];

/** View of messages that returns the same object for what has not changed. */
export class Views {
  readonly #shown = new Map<string, Shown>();

  /** Return the messages of a state; `before` itself if they are the same. */
  messages(fold: Fold, moment: Moment, before: SnapshotMessage[]): SnapshotMessage[] {
    return keep(
      before,
      fold.messages.map((message) => this.#view(fold, message, moment)),
    );
  }

  #view(fold: Fold, message: Message, moment: Moment): SnapshotMessage {
    const { runId } = message.fields;
    const run = runId === undefined ? undefined : fold.runs.get(runId);
    const before = this.#shown.get(message.key);
    if (before && !message.stale && before.run === run && holds(before, moment.now)) {
      return before.view;
    }
    const shown = show(message, run, moment, before?.view);
    this.#shown.set(message.key, shown);
    message.stale = false;
    return shown.view;
  }
}

/** Return true if the same number of calls have timed out now as then. */
function holds({ after, until }: Shown, now = -Infinity): boolean {
  return (after === undefined || now > after) && now <= until;
}

function show(
  message: Message,
  run: SnapshotRun | undefined,
  { now, pendingTimeout }: Moment,
  before: SnapshotMessage | undefined,
): Shown {
  const over = run?.status === 'finished';
  const shown: Shown = { view: { ...message.fields }, run, after: undefined, until: Infinity };
  if (message.calls) {
    const named = nameless(message.calls);
    const known = new Map(before?.toolCalls?.map((call) => [call.toolCallId, call]));
    const calls = message.calls.map((call) => {
      let state = stateOf(call, run);
      const { last } = call.outcome;
      if (last !== undefined && !FINISHED.includes(state) && !WAITING.includes(state)) {
        const deadline = last + pendingTimeout;
        if (now !== undefined && now > deadline) {
          state = 'timeout';
          shown.after = Math.max(shown.after ?? deadline, deadline);
        } else {
          shown.until = Math.min(shown.until, deadline);
        }
      }
      const view = showCall(call, call.id ?? named(call), state);
      return share(known.get(view.toolCallId), view);
    });
    shown.view.toolCalls = keep(before?.toolCalls, calls);
    const finished = calls.every(({ state }) => FINISHED.includes(state));
    shown.view.done = message.aggregated || (over && finished);
  } else if (over) {
    shown.view.done = true;
  }
  const { metadata, unknown } = shown.view;
  if (metadata) shown.view.metadata = share(before?.metadata, metadata);
  if (unknown) shown.view.unknown = share(before?.unknown, unknown);
  shown.view = share(before, shown.view, 1);
  return shown;
}

/** Return the state of a call, regardless of the time. */
function stateOf({ outcome, whole }: Call, run: SnapshotRun | undefined): CallState {
  const { result } = outcome;
  if (result) {
    const { errorCode } = result;
    if (errorCode === 'denied' || errorCode === 'interrupted' || errorCode === 'timeout') {
      return errorCode;
    }
    return result.isError || errorCode !== undefined ? 'error' : 'success';
  }
  if (whole?.invalid) return 'error';
  const state: CallState = outcome.state ?? (whole ? 'pending' : 'writing');
  if (state === 'denied') return state;
  if (run?.status !== 'finished' || state === 'deferred') return state;
  const resumes = run.stopReason === 'deferred' && WAITING.includes(state);
  return resumes ? state : 'interrupted';
}

function showCall(call: Call, toolCallId: string, state: CallState): SnapshotCall {
  const { whole, outcome } = call;
  const { result, started, finished } = outcome;
  return {
    toolCallId,
    name: whole?.name ?? call.name,
    index: whole?.index ?? call.fragmentIndex ?? call.position,
    argumentsText: call.text,
    ...(whole?.arguments && { arguments: whole.arguments }),
    ...(whole?.repairs?.length && { repairs: whole.repairs.map(withoutNulls) }),
    ...(whole?.dialect != null && whole.dialect !== 'natural' && { dialect: whole.dialect }),
    ...(whole?.recovered && { recovered: true }),
    ...(whole?.invalid && { invalid: whole.invalid }),
    state,
    ...outcome.details,
    progress: outcome.progress,
    ...(result && {
      result: result.result,
      isError: result.isError || result.errorCode !== undefined,
      ...(result.errorCode !== undefined && { errorCode: result.errorCode }),
      ...(result.duration !== undefined && { duration: result.duration }),
    }),
    ...(started !== undefined && { startedUtc: started }),
    ...(finished !== undefined && { finishedUtc: finished }),
  };
}

/** Return a name for a call without an id: by position, and unlike any id. */
function nameless(calls: Call[]): (call: Call) => string {
  const ids = new Set(calls.map(({ id }) => id));
  return ({ position }) => {
    let id = `call_${position}`;
    while (ids.has(id)) id += '_';
    return id;
  };
}
