/**
 * What a person who hears the page is told as a chat goes on: states and whole texts, never tokens.
 */

import { lookOf } from '../calls/states.ts';
import type { Snapshot } from '../types.ts';

const longest = 400;

/** Sentences for what is new in `after`; none for what was there when the chat was opened. */
export function announcements(before: Snapshot, after: Snapshot): string[] {
  const said: string[] = [];
  const earlier = new Map(before.messages.map((message) => [message.sequenceNumber, message]));
  for (const message of after.messages) {
    const old = earlier.get(message.sequenceNumber);
    if (old === message) continue;
    if (message.kind === 'text' && message.role !== 'user' && message.done && old?.done !== true) {
      said.push(shortened(typeof message.text === 'string' ? message.text : ''));
    }
    if (message.kind === 'error' && old === undefined && typeof message.message === 'string') {
      said.push(`Error: ${shortened(message.message)}`);
    }
    const states = new Map(old?.toolCalls?.map((call) => [call.toolCallId, call.state]));
    for (const call of message.toolCalls ?? []) {
      if (states.get(call.toolCallId) === call.state) continue;
      if (['writing', 'pending', 'approved'].includes(call.state)) continue;
      said.push(`${call.name === '' ? 'A call' : call.name}: ${lookOf(call).label}.`);
    }
  }
  const runs = new Map(before.runs.map((run) => [run.runId, run.status]));
  for (const run of after.runs) {
    if (run.status === runs.get(run.runId)) continue;
    if (run.status === 'started') said.push('The assistant is at work.');
    else
      said.push(run.stopReason === 'completed' ? 'Reply finished.' : 'The reply has ended early.');
  }
  return said;
}

function shortened(text: string): string {
  return text.length <= longest ? text : `${text.slice(0, longest)} … and more.`;
}
