/** State of a chat while its events are reduced. */

import type {
  SnapshotMessage,
  StreamEvent,
  ReportedCall,
  ToolResult,
  ToolStateStreamEvent,
} from './events.ts';

/** Description of a call in an event. */
export type ToolStateName =
  'running' | 'awaiting_approval' | 'approved' | 'denied' | 'awaiting_answer' | 'deferred';

/** An event with a sequence number. */
export type Numbered<E extends StreamEvent = StreamEvent> = E & { sequenceNumber: number };

/** Outcome of a call, which may arrive before the call. */
export interface Outcome {
  /** The call, once it has been received. */
  call?: Call;
  progress: string[];
  state?: ToolStateName;
  /** Details of states. */
  details: Pick<ToolStateStreamEvent, 'key' | 'question' | 'schema' | 'reason' | 'decidedBy'> & {
    approved?: boolean;
  };
  result?: Pick<ToolResult, 'result' | 'isError' | 'errorCode' | 'duration'>;
  /** Time of the last event about the call. */
  last?: number;
  started?: number;
  finished?: number;
}

export interface Call {
  id?: string;
  /** Name and arguments, as the fragments have them. */
  name: string;
  text: string;
  fragmentIndex?: number;
  position: number;
  whole?: ReportedCall;
  outcome: Outcome;
  message: Message;
}

export interface Message {
  /** Key that is unique over all kinds. */
  key: string;
  /** Fields that are shown unchanged. */
  fields: SnapshotMessage;
  calls?: Call[];
  byIndex?: Map<number, Call>;
  /** True if the aggregate of its calls has been received. */
  aggregated: boolean;
  /** True if it has changed since it was last shown. */
  stale: boolean;
}
