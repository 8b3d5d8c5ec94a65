/** What happened when, and what it cost: a snapshot by runs, for the timeline. */

import { secondsOf } from '../calls/states.ts';
import { numberIn, textIn, type SnapshotCall, type Snapshot } from '../types.ts';

/** A call as a bar. */
export interface Lane {
  key: string;
  name: string;
  state: SnapshotCall['state'];
  /** Milliseconds since 1970; none where it never ran. */
  from?: number;
  /** None while it runs. */
  to?: number;
  /** How long it took, in seconds. */
  took?: number;
}

/** A step of the scenes, or a reply that was paid for. */
export interface Mark {
  key: string;
  at?: number;
  status: string;
  scene?: string;
  what?: string;
  words?: string;
  cost?: string;
  tokens?: { input: number; output: number };
}

/** A bar within its track, in percent of it: `start` and `share` are at most 100 together. */
export interface Bar {
  start: number;
  share: number;
}

export interface RunLine {
  key: string;
  status: string;
  stopReason?: string;
  lanes: Lane[];
  marks: Mark[];
  /** The span of time that the lanes and marks cover; none where nothing in it has a time. */
  from?: number;
  to?: number;
  inputTokens: number;
  outputTokens: number;
  /** What is known to have been spent, as a decimal. */
  cost?: string;
}

const most = 300;
/** Steps that say nothing that is not seen anyway. */
const silent = new Set(['Streaming', 'FunctionRequest', 'LoadingCache', 'SavingCache']);

/** The runs of a chat, the latest first. */
export function linesOf(snapshot: Snapshot): RunLine[] {
  const lines = new Map<string, RunLine>();
  const lineOf = (runId: string | undefined) => {
    const key = runId ?? '';
    let line = lines.get(key);
    if (line === undefined) {
      line = { key, status: '', lanes: [], marks: [], inputTokens: 0, outputTokens: 0 };
      lines.set(key, line);
    }
    return line;
  };
  for (const run of snapshot.runs) {
    const line = lineOf(run.runId);
    line.status = run.status;
    if (run.stopReason !== undefined) line.stopReason = run.stopReason;
  }
  const paid = new Map<string, string[]>();
  for (const message of snapshot.messages) {
    if (message.kind === 'usage') {
      const line = lineOf(message.runId);
      line.inputTokens += numberIn(message.inputTokens) ?? 0;
      line.outputTokens += numberIn(message.outputTokens) ?? 0;
      const cost = decimalIn(message.cost);
      if (cost !== undefined) paid.set(line.key, [...(paid.get(line.key) ?? []), cost]);
    }
    for (const call of message.toolCalls ?? []) {
      const line = lineOf(message.runId);
      if (line.lanes.length >= most) break;
      line.lanes.push(laneOf(call, `${message.messageId}/${call.toolCallId}`));
    }
  }
  for (const [place, entry] of snapshot.scenes.entries()) {
    const step = entry.step;
    const line = lineOf(entry.runId);
    const total = decimalIn(step.totalCost);
    if (total !== undefined && Number(total) > 0) paid.set(line.key, [total]);
    const status = textIn(step.status) ?? '';
    if (silent.has(status) || line.marks.length >= most) continue;
    line.marks.push(markOf(step, status, entry.timestampUtc, String(place)));
  }
  for (const line of lines.values()) {
    const times = [
      ...line.marks.map((mark) => mark.at),
      ...line.lanes.flatMap((lane) => [lane.from, lane.to]),
    ].filter((time) => time !== undefined);
    if (times.length > 0) {
      line.from = times.reduce((one, other) => Math.min(one, other));
      line.to = times.reduce((one, other) => Math.max(one, other));
    }
    const costs = paid.get(line.key);
    if (costs !== undefined) line.cost = sumOf(costs);
  }
  return [...lines.values()]
    .filter((line) => line.status !== '' || line.lanes.length + line.marks.length > 0)
    .reverse();
}

/** The end of a line at `now`: calls that run still draw it on. */
export function endOf(line: RunLine, now: number): number {
  const to = line.to ?? 0;
  const runs = line.lanes.some((lane) => lane.from !== undefined && lane.to === undefined);
  return line.status === 'started' && runs ? Math.max(now, to) : to;
}

/** The bar of a lane on its line, which ends at `end`; none where the call never ran. */
export function barOf(line: RunLine, lane: Lane, end: number): Bar | undefined {
  if (lane.from === undefined || line.from === undefined) return undefined;
  const origin = line.from;
  const length = Math.max(1, end - origin);
  const place = (at: number) => Math.max(0, Math.min(100, ((at - origin) / length) * 100));
  // A clock that was set back may end a call before its start.
  const [one, other] = [place(lane.from), place(lane.to ?? end)];
  const start = Math.min(one, other);
  return { start, share: Math.min(Math.abs(other - one), 100 - start) };
}

/**
 * For how many seconds at least one tool ran: waiting for approval and between calls does not
 * count, and calls at the same time count once. None where no tool ran.
 */
export function toolSeconds(line: RunLine, end: number): number | undefined {
  const spans = line.lanes.flatMap(({ from, to, took, state }) => {
    if (from === undefined) return [];
    // The clock of the executor is finer than the times of events.
    if (took !== undefined) return [[(to ?? end) - took * 1000, to ?? end] as const];
    return to === undefined && state === 'running' ? [[from, Math.max(from, end)] as const] : [];
  });
  if (spans.length === 0) return undefined;
  let sum = 0;
  let reached = -Infinity;
  for (const [from, to] of spans.sort(([one], [other]) => one - other)) {
    sum += Math.max(0, to - Math.max(from, reached));
    reached = Math.max(reached, to);
  }
  return sum / 1000;
}

function laneOf(call: SnapshotCall, key: string): Lane {
  const lane: Lane = { key, name: call.name === '' ? '…' : call.name, state: call.state };
  const { startedUtc, finishedUtc, duration } = call;
  const took = secondsOf(call);
  if (took !== undefined) lane.took = took;
  if (finishedUtc !== undefined) lane.to = finishedUtc;
  if (startedUtc !== undefined) lane.from = startedUtc;
  else if (finishedUtc !== undefined) lane.from = finishedUtc - (duration ?? 0) * 1000;
  return lane;
}

function markOf(
  step: Record<string, unknown>,
  status: string,
  at: number | undefined,
  key: string,
): Mark {
  const mark: Mark = { key, status };
  if (at !== undefined) mark.at = at;
  const scene = textIn(step.scene);
  if (scene !== undefined) mark.scene = scene;
  const what = textIn(step.function);
  if (what !== undefined) mark.what = what;
  const words = textIn(step.error) ?? textIn(step.message);
  if (words !== undefined) mark.words = words.length > 160 ? `${words.slice(0, 160)}…` : words;
  const cost = decimalIn(step.cost);
  if (cost !== undefined) mark.cost = cost;
  const input = numberIn(step.inputTokens) ?? 0;
  const output = numberIn(step.outputTokens) ?? 0;
  if (input + output > 0) mark.tokens = { input, output };
  return mark;
}

function decimalIn(value: unknown): string | undefined {
  const text = typeof value === 'number' ? value.toFixed(12) : textIn(value);
  return text !== undefined && /^-?\d{1,12}(\.\d{1,30})?$/.test(text) ? text : undefined;
}

/** The sum of decimals, exact to twelve places. */
export function sumOf(decimals: string[]): string {
  const places = 12;
  let sum = 0n;
  for (const decimal of decimals) {
    const [whole = '0', fraction = ''] = decimal.replace('-', '').split('.');
    const units = BigInt(whole + fraction.slice(0, places).padEnd(places, '0'));
    sum += decimal.startsWith('-') ? -units : units;
  }
  const digits = (sum < 0n ? -sum : sum).toString().padStart(places + 1, '0');
  const text = `${digits.slice(0, -places)}.${digits.slice(-places)}`.replace(/\.?0+$/, '');
  return sum < 0n ? `-${text}` : text;
}
