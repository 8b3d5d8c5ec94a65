/**
 * The items of a conversation, in order and grouped by turn.
 *
 * Scenes, selections and ends of runs appear between messages. Here they become messages of their
 * own kinds, with their fields in `unknown`, like messages of any kind that the reducer does not
 * know.
 */

import { asString, type Snapshot, type SnapshotMessage } from '../types.ts';

/** Consecutive items of one party. */
export interface Turn {
  key: string;
  role: 'user' | 'assistant';
  items: SnapshotMessage[];
}

/** Statuses of scene steps that nothing else in the conversation shows. */
const shownStatuses = new Set([
  'Planning',
  'DirectorDecision',
  'ExecutingScene',
  'ToolSkipped',
  'AwaitingClient',
  'Summarizing',
  'Error',
]);

/** Return all items of the conversation, in the order in which they began. */
export function itemsOf(snapshot: Snapshot): SnapshotMessage[] {
  const items = snapshot.messages.filter(hasContent);
  // In a snapshot, the end of a run has no sequence number. It goes after the run's last message.
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
    if (shownStatuses.has(asString(entry.step.status) ?? ''))
      add('scene', entry, entry.sequenceNumber);
  }
  for (const entry of snapshot.selections) add('selection', entry, entry.sequenceNumber);
  for (const run of snapshot.runs) {
    if (run.status !== 'finished' || run.stopReason === 'completed') continue;
    if (run.stopReason !== 'deferred' || awaitsResults(snapshot, run.runId)) {
      add('run', run, (ends.get(run.runId) ?? last) + 0.5);
    }
  }
  return items.sort((one, other) => one.sequenceNumber - other.sequenceNumber);
}

/** Return true if a run still waits for deferred results. */
function awaitsResults(snapshot: Snapshot, runId: string): boolean {
  return snapshot.messages.some(
    (message) =>
      message.runId === runId && message.toolCalls?.some((call) => call.state === 'deferred'),
  );
}

/** Return true if there is anything to show. A message may begin empty and stay empty. */
function hasContent(message: SnapshotMessage): boolean {
  if (message.toolCalls !== undefined) return message.toolCalls.length > 0;
  return message.text?.trim() !== '';
}

/** Return a unique key: ids may repeat, but each sequence number begins at most one message. */
export function keyOf(item: SnapshotMessage): string {
  return String(item.sequenceNumber);
}

/** Group the items into turns. */
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
