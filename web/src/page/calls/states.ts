/** The presentation of call states: label, icon and tone. */

import type { IconName } from '../icons/icons.ts';
import { ownValue, type CallState, type SnapshotCall } from '../types.ts';
import { texts } from '../language/language.svelte.ts';

/** The meaning of a colour. */
export type Tone = 'busy' | 'calm' | 'good' | 'ask' | 'bad' | 'other';

/** The presentation of one state. */
export interface Appearance {
  label: string;
  icon: IconName;
  tone: Tone;
}

const appearances: Record<CallState, Omit<Appearance, 'label'>> = {
  writing: { icon: 'pen', tone: 'busy' },
  pending: { icon: 'dots', tone: 'calm' },
  awaiting_approval: { icon: 'shield', tone: 'ask' },
  approved: { icon: 'shield', tone: 'busy' },
  awaiting_answer: { icon: 'question', tone: 'ask' },
  deferred: { icon: 'hourglass', tone: 'other' },
  running: { icon: 'play', tone: 'busy' },
  success: { icon: 'check', tone: 'good' },
  error: { icon: 'cross', tone: 'bad' },
  denied: { icon: 'barred', tone: 'bad' },
  interrupted: { icon: 'broken', tone: 'ask' },
  timeout: { icon: 'clock', tone: 'ask' },
};

/** Return the presentation of a call. An unknown state is shown by its name. */
export function appearanceOf(call: SnapshotCall): Appearance {
  const found = ownValue<Omit<Appearance, 'label'>>(appearances, call.state);
  if (found === undefined) return { label: call.state, icon: 'dots', tone: 'calm' };
  const { states, progressState } = texts().calls;
  const hasProgress = call.state === 'running' && call.progress.length > 0;
  return { ...found, label: hasProgress ? progressState : states[call.state] };
}

/** Return the decision on a call, such as `Allowed by ann`; undefined if there is none. */
export function decisionOf(call: SnapshotCall): string | undefined {
  if (call.approved === undefined) return undefined;
  const { decidedBy } = call;
  const person = decidedBy === 'user' ? texts().calls.theUser : decidedBy;
  const decision = call.approved ? texts().calls.allowed : texts().calls.denied;
  return person === undefined ? decision : texts().calls.decidedBy(decision, person);
}

/** Return the form in which a model wrote a call; undefined if it is the usual one. */
export function originOf(call: SnapshotCall): string | undefined {
  const dialect = call.dialect ?? 'natural';
  if (call.recovered === true) return texts().calls.recovered(dialect);
  return ['natural', 'native'].includes(dialect) ? undefined : dialect;
}

/** Return true if the call makes progress without input from the user. */
export function isBusy(call: SnapshotCall): boolean {
  return call.state === 'writing' || call.state === 'approved' || call.state === 'running';
}

/** Return true if the call has finished; a late result may still arrive. */
export function isFinished(call: SnapshotCall): boolean {
  return ['success', 'error', 'denied', 'interrupted', 'timeout'].includes(call.state);
}

/** Return true if the call has a result, successful or not. */
export function hasResult(call: SnapshotCall): boolean {
  return call.result !== undefined;
}

/** Return the running time of the tool in seconds; undefined if it is unknown. */
export function secondsOf(call: SnapshotCall): number | undefined {
  if (call.duration !== undefined) return call.duration;
  if (call.startedUtc === undefined || call.finishedUtc === undefined) return undefined;
  // A call that waited for an answer or a deferred result did not run the whole time.
  if (call.key !== undefined && call.approved === undefined) return undefined;
  return (call.finishedUtc - call.startedUtc) / 1000;
}
