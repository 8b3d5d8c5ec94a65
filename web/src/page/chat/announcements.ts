/**
 * Announcements for screen readers as a chat progresses: states and complete texts, never tokens.
 */

import { appearanceOf } from '../calls/states.ts';
import type { Snapshot } from '../types.ts';
import { texts } from '../language/language.svelte.ts';

const maxLength = 400;

/** Return the sentences that announce the changes from `before` to `after`. */
export function announcements(before: Snapshot, after: Snapshot): string[] {
  const sentences: string[] = [];
  const earlier = new Map(before.messages.map((message) => [message.sequenceNumber, message]));
  for (const message of after.messages) {
    const old = earlier.get(message.sequenceNumber);
    if (old === message) continue;
    if (message.kind === 'text' && message.role !== 'user' && message.done && old?.done !== true) {
      sentences.push(shortened(typeof message.text === 'string' ? message.text : ''));
    }
    if (message.kind === 'error' && old === undefined && typeof message.message === 'string') {
      sentences.push(texts().announced.error(shortened(message.message)));
    }
    const states = new Map(old?.toolCalls?.map((call) => [call.toolCallId, call.state]));
    for (const call of message.toolCalls ?? []) {
      if (states.get(call.toolCallId) === call.state) continue;
      if (['writing', 'pending', 'approved'].includes(call.state)) continue;
      sentences.push(
        `${call.name === '' ? texts().announced.call : call.name}: ${appearanceOf(call).label}.`,
      );
    }
  }
  const runs = new Map(before.runs.map((run) => [run.runId, run.status]));
  for (const run of after.runs) {
    if (run.status === runs.get(run.runId)) continue;
    if (run.status === 'started') sentences.push(texts().announced.working);
    else
      sentences.push(
        run.stopReason === 'completed' ? texts().announced.finished : texts().announced.endedEarly,
      );
  }
  return sentences;
}

function shortened(text: string): string {
  return text.length <= maxLength ? text : `${text.slice(0, maxLength)} … ${texts().announced.cut}`;
}
