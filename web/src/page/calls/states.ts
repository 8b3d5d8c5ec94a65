/** The states of a call as a person sees them: a word, a sign, a tone. */

import type { IconName } from '../icons/icons.ts';
import { ownOf, type CallState, type SnapshotCall } from '../types.ts';

/** What a colour means. */
export type Tone = 'busy' | 'calm' | 'good' | 'ask' | 'bad' | 'other';

export interface Look {
  label: string;
  icon: IconName;
  tone: Tone;
}

const looks: Record<CallState, Look> = {
  writing: { label: 'writing', icon: 'pen', tone: 'busy' },
  pending: { label: 'pending', icon: 'dots', tone: 'calm' },
  awaiting_approval: { label: 'awaiting approval', icon: 'shield', tone: 'ask' },
  approved: { label: 'allowed', icon: 'shield', tone: 'busy' },
  awaiting_answer: { label: 'awaiting an answer', icon: 'question', tone: 'ask' },
  deferred: { label: 'deferred', icon: 'later', tone: 'other' },
  running: { label: 'running', icon: 'play', tone: 'busy' },
  success: { label: 'success', icon: 'check', tone: 'good' },
  error: { label: 'error', icon: 'cross', tone: 'bad' },
  denied: { label: 'denied', icon: 'barred', tone: 'bad' },
  interrupted: { label: 'interrupted', icon: 'broken', tone: 'ask' },
  timeout: { label: 'timeout', icon: 'clock', tone: 'ask' },
};

/** How `call` looks. A state that is not known here is shown by its name. */
export function lookOf(call: SnapshotCall): Look {
  const found = ownOf<Look>(looks, call.state);
  if (found === undefined) return { label: call.state, icon: 'dots', tone: 'calm' };
  if (call.state === 'running' && call.progress.length > 0) return { ...found, label: 'progress' };
  return found;
}

/** `Allowed by ann`, once somebody has decided on the call. */
export function decisionOf(call: SnapshotCall): string | undefined {
  if (call.approved === undefined) return undefined;
  const { decidedBy } = call;
  const person = decidedBy === 'user' ? 'the user' : decidedBy;
  return (call.approved ? 'Allowed' : 'Denied') + (person === undefined ? '' : ` by ${person}`);
}

/** What happens to calls in these states happens without anyone's help. */
export function isBusy(call: SnapshotCall): boolean {
  return call.state === 'writing' || call.state === 'approved' || call.state === 'running';
}

/** Whether the call has come to its end, a late result apart. */
export function isOver(call: SnapshotCall): boolean {
  return ['success', 'error', 'denied', 'interrupted', 'timeout'].includes(call.state);
}

/** Whether a result has come, whatever it says. */
export function isAnswered(call: SnapshotCall): boolean {
  return call.result !== undefined;
}

/** For how many seconds the tool ran, where it is known. */
export function secondsOf(call: SnapshotCall): number | undefined {
  if (call.duration !== undefined) return call.duration;
  if (call.startedUtc === undefined || call.finishedUtc === undefined) return undefined;
  // A tool that asked, or answers later, did not run until its result came.
  if (call.key !== undefined && call.approved === undefined) return undefined;
  return (call.finishedUtc - call.startedUtc) / 1000;
}
