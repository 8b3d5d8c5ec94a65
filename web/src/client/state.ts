/** What is known of a chat while its events add up. */

import type {
  SnapshotMessage,
  StreamEvent,
  ReportedCall,
  ToolResult,
  ToolStateStreamEvent,
} from './events.ts';

/** What an event can say of a call. */
export type ToolStateName =
  'running' | 'awaiting_approval' | 'approved' | 'denied' | 'awaiting_answer' | 'deferred';

/** An event that has its place among the others. */
export type Numbered<E extends StreamEvent = StreamEvent> = E & { sequenceNumber: number };

/** What became of a call; it may be heard of before the call is. */
export interface Outcome {
  /** The call, once it has come. */
  call?: Call;
  progress: string[];
  state?: ToolStateName;
  /** What states said along with themselves. */
  told: Pick<ToolStateStreamEvent, 'key' | 'question' | 'schema' | 'reason' | 'decidedBy'> & {
    approved?: boolean;
  };
  result?: Pick<ToolResult, 'result' | 'isError' | 'errorCode' | 'duration'>;
  /** The time of the last event that spoke of the call. */
  last?: number;
  started?: number;
  finished?: number;
}

export interface Call {
  id?: string;
  /** The name and the arguments as fragments spelled them. */
  name: string;
  text: string;
  fragmentIndex?: number;
  position: number;
  whole?: ReportedCall;
  outcome: Outcome;
  message: Message;
}

export interface Message {
  /** What tells it from others, over all kinds. */
  key: string;
  /** What is shown of it as it is. */
  fields: SnapshotMessage;
  calls?: Call[];
  byIndex?: Map<number, Call>;
  /** The aggregate of its calls has come. */
  aggregated: boolean;
  /** Something has changed since it was last shown. */
  stale: boolean;
}
