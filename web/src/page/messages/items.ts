/**
 * A snapshot as a conversation: what to show, in which order, and who said it.
 *
 * Scenes, selections and ends of runs are no messages, but they have their place between messages.
 * Here they become messages of kinds of their own, with what is known of them in `unknown`, where
 * messages of any kind that the reducer does not know have it.
 */

import { textIn, type Snapshot, type SnapshotMessage } from '../types.ts';

/** What one side says before the other has its turn. */
export interface Turn {
  key: string;
  role: 'user' | 'assistant';
  items: SnapshotMessage[];
}

/** Steps of scenes that nothing else in the conversation shows. */
const tellingSteps = new Set([
  'Planning',
  'DirectorDecision',
  'ExecutingScene',
  'ToolSkipped',
  'AwaitingClient',
  'Summarizing',
  'Error',
]);

/** All items of the conversation in the order in which they began. */
export function itemsOf(snapshot: Snapshot): SnapshotMessage[] {
  const items = snapshot.messages.filter(hasSomething);
  // The end of a run has no number in a snapshot: it stands after the last message of the run.
  const ends = new Map<string, number>();
  let last = 0;
  for (const message of snapshot.messages) {
    last = Math.max(last, message.sequenceNumber);
    if (message.runId !== undefined) ends.set(message.runId, message.sequenceNumber);
  }
  const add = (kind: string, entry: object & { runId?: string }, at?: number) => {
    items.push({
      messageId: `${kind}.${items.length}`,
      kind,
      role: 'assistant',
      sequenceNumber: at ?? last,
      done: true,
      unknown: { ...entry },
      ...(entry.runId === undefined ? {} : { runId: entry.runId }),
    });
  };
  for (const entry of snapshot.scenes) {
    if (tellingSteps.has(textIn(entry.step.status) ?? ''))
      add('scene', entry, entry.sequenceNumber);
  }
  for (const entry of snapshot.selections) add('selection', entry, entry.sequenceNumber);
  for (const run of snapshot.runs) {
    if (run.status !== 'finished' || run.stopReason === 'completed') continue;
    if (run.stopReason !== 'deferred' || waits(snapshot, run.runId)) {
      add('run', run, (ends.get(run.runId) ?? last) + 0.5);
    }
  }
  return items.sort((one, other) => one.sequenceNumber - other.sequenceNumber);
}

/** Whether a run still waits for results that come later. */
function waits(snapshot: Snapshot, runId: string): boolean {
  return snapshot.messages.some(
    (message) =>
      message.runId === runId && message.toolCalls?.some((call) => call.state === 'deferred'),
  );
}

/** Whether there is anything to see: a message may begin with nothing, and stay that way. */
function hasSomething(message: SnapshotMessage): boolean {
  if (message.toolCalls !== undefined) return message.toolCalls.length > 0;
  return message.text?.trim() !== '';
}

/** What tells items apart: ids may come twice, but an event begins one message at most. */
export function keyOf(item: SnapshotMessage): string {
  return String(item.sequenceNumber);
}

/** The items by turns. */
export function turnsOf(items: SnapshotMessage[]): Turn[] {
  const turns: Turn[] = [];
  for (const item of items) {
    const role = item.role === 'user' ? 'user' : 'assistant';
    const last = turns.at(-1);
    if (last?.role === role) last.items.push(item);
    else turns.push({ key: keyOf(item), role, items: [item] });
  }
  return turns;
}
