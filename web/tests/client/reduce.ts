/** A program that reduces chats given as lines of JSON, for comparison with other reducers. */
import { createInterface } from 'node:readline';
import { faultIn } from '../../src/client/check.ts';
import { StreamReducer } from '../../src/client/reducer.ts';
import type { StreamEvent } from '../../src/client/events.ts';

interface Chat {
  events: StreamEvent[];
  now?: number;
  pendingTimeout: number;
}

for await (const line of createInterface({ input: process.stdin })) {
  const { events, now, pendingTimeout } = JSON.parse(line) as Chat;
  const reducer = new StreamReducer({ pendingTimeout });
  const faults = events.map((event) => {
    const fault = faultIn(event);
    if (!fault) reducer.push(event);
    return fault?.path ?? null;
  });
  process.stdout.write(JSON.stringify({ faults, snapshot: reducer.snapshot(now) }) + '\n');
}
