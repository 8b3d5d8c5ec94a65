/** How messages and calls are shown: what the fold knows, as of a moment. */

import type { CallState, SnapshotCall, SnapshotMessage, SnapshotRun } from './events.ts';
import type { Fold } from './fold.ts';
import { keep, share, withoutNulls } from './sharing.ts';
import type { Call, Message } from './state.ts';

/** A message as it was shown, and when it would be shown the same. */
interface Shown {
  view: SnapshotMessage;
  run: SnapshotRun | undefined;
  /** After this, in ms since 1970, as many calls are late as were then; before it fewer are. */
  after: number | undefined;
  /** Until then no other call becomes late. */
  until: number;
}

/** A moment, and how long calls may take. */
export interface Moment {
  /** Milliseconds since 1970; without it nothing is late. */
  now: number | undefined;
  pendingTimeout: number;
}

const SETTLED: readonly CallState[] = ['success', 'error', 'denied', 'interrupted', 'timeout'];
/** Who waits for a person is not late. */
const PATIENT: readonly CallState[] = ['awaiting_approval', 'awaiting_answer', 'deferred'];

/** Shows messages, and hands out the same object for what has not changed. */
export class Views {
  readonly #shown = new Map<string, Shown>();

  /** The messages of a fold; `before` itself if they are the same. */
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

/** Whether as many calls are late now as were then. */
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
      if (last !== undefined && !SETTLED.includes(state) && !PATIENT.includes(state)) {
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
    const settled = calls.every(({ state }) => SETTLED.includes(state));
    shown.view.done = message.aggregated || (over && settled);
  } else if (over) {
    shown.view.done = true;
  }
  if (shown.view.unknown) shown.view.unknown = share(before?.unknown, shown.view.unknown);
  shown.view = share(before, shown.view, 1);
  return shown;
}

/** How far a call has come, whatever the time. */
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
  const resumes = run.stopReason === 'deferred' && PATIENT.includes(state);
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
    ...(whole?.invalid && { invalid: whole.invalid }),
    state,
    ...outcome.told,
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

/** Names for calls whose id has not come: by place, and unlike any id. */
function nameless(calls: Call[]): (call: Call) => string {
  const ids = new Set(calls.map(({ id }) => id));
  return ({ position }) => {
    let id = `call_${position}`;
    while (ids.has(id)) id += '_';
    return id;
  };
}
