/** The data behind the timeline: the calls, steps, tokens and costs of a snapshot, grouped by run. */

import { secondsOf } from '../calls/states.ts';
import { asNumber, asString, type SnapshotCall, type Snapshot } from '../types.ts';

/** A call, drawn as a bar. */
export interface Lane {
  key: string;
  name: string;
  state: SnapshotCall['state'];
  /** Start in milliseconds since 1970; absent if the call never ran. */
  from?: number;
  /** End in milliseconds since 1970; absent while the call runs. */
  to?: number;
  /** Running time in seconds. */
  seconds?: number;
}

/** A step of a scene run. */
export interface Mark {
  key: string;
  at?: number;
  status: string;
  scene?: string;
  tool?: string;
  message?: string;
  cost?: string;
  tokens?: { input: number; output: number };
}

/** A bar's position and width, in percent of its track. `start + share` is at most 100. */
export interface Bar {
  start: number;
  share: number;
}

/** The lanes, marks and totals of one run. */
export interface RunTimeline {
  key: string;
  status: string;
  stopReason?: string;
  lanes: Lane[];
  marks: Mark[];
  /** The time that the lanes and marks span; absent if none of them has a time. */
  from?: number;
  to?: number;
  inputTokens: number;
  outputTokens: number;
  /** Known cost, as a decimal string. */
  cost?: string;
}

const maxEntries = 300;
/** Statuses whose information is already visible elsewhere. */
const hiddenStatuses = new Set(['Streaming', 'FunctionRequest', 'LoadingCache', 'SavingCache']);

/** Return the runs of a chat, latest first. */
export function timelinesOf(snapshot: Snapshot): RunTimeline[] {
  const lines = new Map<string, RunTimeline>();
  const lineFor = (runId: string | undefined) => {
    const key = runId ?? '';
    let line = lines.get(key);
    if (line === undefined) {
      line = { key, status: '', lanes: [], marks: [], inputTokens: 0, outputTokens: 0 };
      lines.set(key, line);
    }
    return line;
  };
  for (const run of snapshot.runs) {
    const line = lineFor(run.runId);
    line.status = run.status;
    if (run.stopReason !== undefined) line.stopReason = run.stopReason;
  }
  const costsByRun = new Map<string, string[]>();
  for (const message of snapshot.messages) {
    if (message.kind === 'usage') {
      const line = lineFor(message.runId);
      line.inputTokens += asNumber(message.inputTokens) ?? 0;
      line.outputTokens += asNumber(message.outputTokens) ?? 0;
      const cost = decimalIn(message.cost);
      if (cost !== undefined) costsByRun.set(line.key, [...(costsByRun.get(line.key) ?? []), cost]);
    }
    for (const call of message.toolCalls ?? []) {
      const line = lineFor(message.runId);
      if (line.lanes.length >= maxEntries) break;
      line.lanes.push(laneOf(call, `${message.messageId}/${call.toolCallId}`));
    }
  }
  for (const [index, entry] of snapshot.scenes.entries()) {
    const step = entry.step;
    const line = lineFor(entry.runId);
    const total = decimalIn(step.totalCost);
    if (total !== undefined && Number(total) > 0) costsByRun.set(line.key, [total]);
    const status = asString(step.status) ?? '';
    if (hiddenStatuses.has(status) || line.marks.length >= maxEntries) continue;
    line.marks.push(markOf(step, status, entry.timestampUtc, String(index)));
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
    const costs = costsByRun.get(line.key);
    if (costs !== undefined) line.cost = sumOf(costs);
  }
  return [...lines.values()]
    .filter((line) => line.status !== '' || line.lanes.length + line.marks.length > 0)
    .reverse();
}

/** Return the end of a run's timeline, which moves on to `now` while a call is running. */
export function endOf(line: RunTimeline, now: number): number {
  const to = line.to ?? 0;
  const runs = line.lanes.some((lane) => lane.from !== undefined && lane.to === undefined);
  return line.status === 'started' && runs ? Math.max(now, to) : to;
}

/** Return the bar of a lane on a timeline that ends at `end`; undefined if the call never ran. */
export function barOf(line: RunTimeline, lane: Lane, end: number): Bar | undefined {
  if (lane.from === undefined || line.from === undefined) return undefined;
  const origin = line.from;
  const length = Math.max(1, end - origin);
  const percent = (at: number) => Math.max(0, Math.min(100, ((at - origin) / length) * 100));
  // If the clock was set back, a call may end before its start.
  const [one, other] = [percent(lane.from), percent(lane.to ?? end)];
  const start = Math.min(one, other);
  return { start, share: Math.min(Math.abs(other - one), 100 - start) };
}

/**
 * Return the seconds during which at least one tool ran.
 *
 * Time spent waiting for approval or between calls does not count, and concurrent calls count
 * once. Undefined if no tool ran.
 */
export function toolSeconds(line: RunTimeline, end: number): number | undefined {
  const spans = line.lanes.flatMap(({ from, to, seconds, state }) => {
    if (from === undefined) return [];
    // The duration that the executor measured is more precise than the times of events.
    if (seconds !== undefined) return [[(to ?? end) - seconds * 1000, to ?? end] as const];
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
  const seconds = secondsOf(call);
  if (seconds !== undefined) lane.seconds = seconds;
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
  const scene = asString(step.scene);
  if (scene !== undefined) mark.scene = scene;
  const tool = asString(step.function);
  if (tool !== undefined) mark.tool = tool;
  const message = asString(step.error) ?? asString(step.message);
  if (message !== undefined)
    mark.message = message.length > 160 ? `${message.slice(0, 160)}…` : message;
  const cost = decimalIn(step.cost);
  if (cost !== undefined) mark.cost = cost;
  const input = asNumber(step.inputTokens) ?? 0;
  const output = asNumber(step.outputTokens) ?? 0;
  if (input + output > 0) mark.tokens = { input, output };
  return mark;
}

function decimalIn(value: unknown): string | undefined {
  const text = typeof value === 'number' ? value.toFixed(12) : asString(value);
  return text !== undefined && /^-?\d{1,12}(\.\d{1,30})?$/.test(text) ? text : undefined;
}

/** Add decimal strings, exact to twelve places. */
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
