/**
 * Reduction of a chat's events to a snapshot.
 *
 * A snapshot depends only on the *set* of received events, by sequence number: order and
 * repetition do not matter, and of two different events with one number the first counts. Objects
 * that did not change between two snapshots are identical, so a page redraws only the changes.
 *
 * ```ts
 * const reducer = new StreamReducer({ pendingTimeout: 60_000 });
 * reducer.push({ kind: 'text', sequenceNumber: 1, messageId: 'm', role: 'user', delta: 'Hi', done: true });
 * reducer.snapshot().messages[0]?.text; // 'Hi'
 * ```
 */

import { StreamEventError, faultIn } from './check.ts';
import type { Snapshot, SnapshotProblem, StreamEvent } from './events.ts';
import { Fold, PROBLEMS } from './fold.ts';
import { equal, share, withoutNulls } from './sharing.ts';
import type { Numbered } from './state.ts';
import { Views } from './view.ts';

/** Maximum number of missing ranges that are reported. */
const RANGES = 100;

export interface ReducerOptions {
  /** Milliseconds without an event after which a call is shown as timed out. */
  pendingTimeout?: number;
}

/** Reducer of events, in any order, to a snapshot. */
export class StreamReducer {
  readonly #pendingTimeout: number;
  readonly #events = new Map<number, Numbered>();
  /** Received sequence numbers, as ascending ranges with gaps between them. */
  readonly #ranges: [number, number][] = [];
  /** Sequence numbers with several different events. */
  readonly #conflicts = new Set<number>();
  /** Events that have not been applied. */
  #waiting: Numbered[] = [];
  #fold = new Fold();
  /** Sequence number of the last applied event. */
  #folded = 0;
  readonly #views = new Views();
  #snapshot: Snapshot = {
    lastSequenceNumber: 0,
    missing: [],
    messages: [],
    runs: [],
    scenes: [],
    selections: [],
    raw: [],
    problems: [],
  };

  constructor(options: ReducerOptions = {}) {
    this.#pendingTimeout = options.pendingTimeout ?? 60_000;
  }

  /** Sequence number up to which all events have been received. */
  get lastSequenceNumber(): number {
    const first = this.#ranges[0];
    return first?.[0] === 1 ? first[1] : 0;
  }

  /** Missing ranges before the last received event, as first and last number. */
  get missing(): [number, number][] {
    const missing: [number, number][] = [];
    let end = 0;
    for (const [first, last] of this.#ranges) {
      if (missing.length === RANGES) break;
      if (first > end + 1) missing.push([end + 1, first - 1]);
      end = last;
    }
    return missing;
  }

  /**
   * Add an event. Return false if an event with this number was added before.
   *
   * @throws {StreamEventError} The event is invalid or has no sequence number.
   */
  push(event: StreamEvent): boolean {
    const fault = faultIn(event);
    if (fault) throw new StreamEventError(fault);
    if (event.sequenceNumber == null) {
      throw new StreamEventError({ path: '/sequenceNumber', expected: 'a number from 1 up' });
    }
    const numbered = event as Numbered;
    const number = numbered.sequenceNumber;
    const before = this.#events.get(number);
    if (before) {
      if (!equal(withoutNulls(before), withoutNulls(numbered))) this.#conflicts.add(number);
      return false;
    }
    this.#events.set(number, numbered);
    this.#waiting.push(numbered);
    this.#extend(number);
    return true;
  }

  /**
   * Return the snapshot of the chat. Do not modify it.
   *
   * @param now Milliseconds since 1970; without it no call times out.
   */
  snapshot(now?: number): Snapshot {
    this.#foldWaiting();
    const fold = this.#fold;
    const before = this.#snapshot;
    const moment = { now, pendingTimeout: this.#pendingTimeout };
    const snapshot: Snapshot = {
      ...(fold.chatId !== undefined && { chatId: fold.chatId }),
      lastSequenceNumber: this.lastSequenceNumber,
      missing: share(before.missing, this.missing),
      messages: this.#views.messages(fold, moment, before.messages),
      runs: share(before.runs, [...fold.runs.values()]),
      scenes: share(before.scenes, [...fold.scenes]),
      selections: share(before.selections, [...fold.selections]),
      raw: share(before.raw, [...fold.raw.values()]),
      problems: share(before.problems, this.#problems()),
    };
    this.#snapshot = share(before, snapshot, 1);
    return this.#snapshot;
  }

  #foldWaiting(): void {
    if (this.#waiting.length === 0) return;
    let events = this.#waiting.sort((a, b) => a.sequenceNumber - b.sequenceNumber);
    this.#waiting = [];
    if ((events[0]?.sequenceNumber ?? 0) < this.#folded) {
      // Rules are for events in order, so what came late moves in by starting over. A stream
      // is in order; this is for readers that put several together.
      events = [...this.#events.values()].sort((a, b) => a.sequenceNumber - b.sequenceNumber);
      this.#fold = new Fold();
    }
    for (const event of events) this.#fold.push(event);
    this.#folded = events.at(-1)?.sequenceNumber ?? this.#folded;
  }

  #problems(): SnapshotProblem[] {
    const conflicts = [...this.#conflicts].map((sequenceNumber) => ({
      kind: 'conflict' as const,
      sequenceNumber,
    }));
    return [...this.#fold.problems, ...conflicts]
      .sort((a, b) => a.sequenceNumber - b.sequenceNumber)
      .slice(0, PROBLEMS);
  }

  /** Add a new number to the ranges. */
  #extend(number: number): void {
    const ranges = this.#ranges;
    let low = 0;
    let high = ranges.length;
    const last = ranges.at(-1);
    if (last && number > last[1]) low = high;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((ranges[middle]?.[0] ?? 0) < number) low = middle + 1;
      else high = middle;
    }
    const left = ranges[low - 1];
    const right = ranges[low];
    const joinsLeft = left?.[1] === number - 1;
    const joinsRight = right?.[0] === number + 1;
    if (left && right && joinsLeft && joinsRight) {
      left[1] = right[1];
      ranges.splice(low, 1);
    } else if (left && joinsLeft) left[1] = number;
    else if (right && joinsRight) right[0] = number;
    else ranges.splice(low, 0, [number, number]);
  }
}
