/**
 * A stream of a chat's events that reconnects.
 *
 * Built on `fetch` rather than `EventSource`, which hides headers, status 204 and the reasons for
 * failures. A connection that ends, breaks or goes silent is replaced by one that resumes after the
 * last received event; duplicates are dropped.
 *
 * ```ts
 * const stream = new EventStream('./chats/c1/events?follow=1', { onStatus: show });
 * for await (const event of stream) reducer.push(event);
 * ```
 */

import { faultIn } from './check.ts';
import { parseExact } from './exact.ts';
import { type ApiError, errorFrom, errorOf } from './http.ts';
import { EventTooLargeError, SseParser } from './sse.ts';
import type { Numbered } from './state.ts';

/** Status of a stream. */
export type StreamStatus =
  | { state: 'connecting' }
  /** Connected; events arrive as they happen. */
  | { state: 'live' }
  /** The connection was lost; the next attempt is in `delay` ms. */
  | { state: 'waiting'; delay: number; error: ApiError }
  /** The server has no more events, or the stream was stopped. */
  | { state: 'ended' }
  /** The server refuses permanently. */
  | { state: 'failed'; error: ApiError };

export interface StreamOptions {
  /** Sequence number to start after; 0 is the beginning of the chat. */
  after?: number;
  /** Signal that ends the stream. */
  signal?: AbortSignal;
  /** Headers of every request. */
  headers?: Record<string, string>;
  /** Callback for changes of the status, which is `connecting` at first. */
  onStatus?: (status: StreamStatus) => void;
  /** Idle timeout of a connection in ms; more than two heartbeats of the server. */
  silence?: number;
  /** Backoff after the first failure in ms; it doubles with each further one. */
  firstDelay?: number;
  /** Maximum backoff in ms. */
  maxDelay?: number;
  /** Maximum number of consecutive failures. */
  maxFailures?: number;
  /** Implementation of `fetch`. */
  fetch?: typeof fetch;
  /** Random numbers in [0, 1), for jitter. */
  random?: () => number;
}

/** Statuses of transient failures. */
const PASSING = new Set([408, 425, 429]);

/** Outcome of one connection. */
type End =
  | { how: 'finished' }
  | { how: 'over' }
  | { how: 'refused'; error: ApiError }
  | { how: 'lost'; error: ApiError; retryAfter?: number };

/** A resumable stream; iterate over it once. */
export class EventStream implements AsyncIterable<Numbered> {
  readonly #url: string;
  readonly #options: StreamOptions;
  readonly #silence: number;
  readonly #stopping = new AbortController();
  #status: StreamStatus = { state: 'connecting' };
  #cursor: number;
  #failures = 0;
  #firstDelay: number;
  /** End the wait before the next attempt. */
  #wake: (() => void) | undefined;
  /** End the wait for bytes. */
  #giveUp: (() => void) | undefined;
  /** Start of the wait for bytes, in ms since 1970. */
  #heardAt = 0;
  /** A cursor and the number received after it that left a gap: requested once more. */
  #gap: string | undefined;

  constructor(url: string, options: StreamOptions = {}) {
    this.#url = url;
    this.#options = options;
    this.#silence = options.silence ?? 45_000;
    this.#cursor = options.after ?? 0;
    this.#firstDelay = options.firstDelay ?? 500;
  }

  get status(): StreamStatus {
    return this.#status;
  }

  /** Sequence number of the last event that was yielded, for another stream to resume after. */
  get lastSequenceNumber(): number {
    return this.#cursor;
  }

  /**
   * Connect now instead of after the backoff, for instance when the network is back. A connection
   * past its idle timeout is replaced: a machine that was asleep may have lost it unnoticed.
   */
  reconnect(): void {
    this.#wake?.();
    if (Date.now() - this.#heardAt > this.#silence / 2) this.#giveUp?.();
  }

  /** End the stream and abort the current connection. */
  stop(): void {
    this.#stopping.abort();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Numbered, void, undefined> {
    const { signal: outer } = this.#options;
    const signal = outer ? AbortSignal.any([outer, this.#stopping.signal]) : this.#stopping.signal;
    try {
      while (!signal.aborted) {
        const end = yield* this.#connection(signal);
        if (end.how === 'over') return;
        if (end.how === 'refused') {
          this.#setStatus({ state: 'failed', error: end.error });
          return;
        }
        if (!(await this.#pause(end, signal))) return;
      }
    } finally {
      this.#stopping.abort();
      if (this.#status.state !== 'failed') this.#setStatus({ state: 'ended' });
    }
  }

  /** Read one connection to its end. */
  async *#connection(outer: AbortSignal): AsyncGenerator<Numbered, End, undefined> {
    this.#setStatus({ state: 'connecting' });
    const connection = new AbortController();
    const signal = AbortSignal.any([outer, connection.signal]);
    try {
      const response = await this.#heard(connection, this.#request(signal));
      if (response.status === 204) return { how: 'over' };
      if (!response.ok) return await this.#heard(connection, refusal(response));
      const refused = await notEvents(response);
      if (refused) return { how: 'refused', error: refused };
      this.#setStatus({ state: 'live' });
      return yield* this.#read(connection, response);
    } catch (thrown) {
      if (thrown instanceof EventTooLargeError) {
        return {
          how: 'refused',
          error: { status: 0, code: 'too_large', message: thrown.message },
        };
      }
      return { how: 'lost', error: errorFrom(connection.signal.reason ?? thrown) };
    } finally {
      connection.abort();
    }
  }

  #request(signal: AbortSignal): Promise<Response> {
    const request = this.#options.fetch ?? fetch;
    const headers: Record<string, string> = {
      ...this.#options.headers,
      accept: 'text/event-stream',
    };
    if (this.#cursor > 0) headers['last-event-id'] = String(this.#cursor);
    return request(this.#url, { headers, signal, cache: 'no-store' });
  }

  async *#read(
    connection: AbortController,
    response: Response,
  ): AsyncGenerator<Numbered, End, undefined> {
    const reader = response.body?.getReader();
    if (!reader) return { how: 'finished' };
    const parser = new SseParser();
    for (;;) {
      // The clock runs while we wait for bytes, not while our reader takes its time.
      const { done, value } = await this.#heard(connection, reader.read());
      if (done) return { how: 'finished' };
      for (const { type, data } of parser.push(value)) {
        if (type !== 'message') continue;
        const event = eventIn(data);
        if (!event) continue;
        const verdict = this.#verdict(event);
        if (verdict === 'again') return { how: 'finished' };
        if (verdict === 'take') yield event;
      }
      if (parser.retry !== undefined) this.#firstDelay = parser.retry;
    }
  }

  /** Return whether an event is new, a duplicate, or after a gap. */
  #verdict({ sequenceNumber: number }: Numbered): 'take' | 'drop' | 'again' {
    if (number <= this.#cursor) return 'drop';
    const gap = `${this.#cursor}..${number}`;
    if (number > this.#cursor + 1 && this.#gap !== gap) {
      // Events are numbered without gaps, so something got lost on the way. Where it is missing
      // a second time the server does not have it either: its retention has removed it.
      this.#gap = gap;
      return 'again';
    }
    this.#cursor = number;
    this.#failures = 0;
    return 'take';
  }

  /** Return the result of `work`, or time out after the idle timeout. */
  async #heard<T>(connection: AbortController, work: Promise<T>): Promise<T> {
    const giveUp = (): void => {
      connection.abort(new DOMException('no sign of life', 'TimeoutError'));
    };
    const timer = setTimeout(giveUp, this.#silence);
    this.#giveUp = giveUp;
    this.#heardAt = Date.now();
    try {
      return await work;
    } finally {
      clearTimeout(timer);
      this.#giveUp = undefined;
    }
  }

  /** Wait before the next attempt; return false if there is none. */
  async #pause(end: End & { how: 'finished' | 'lost' }, signal: AbortSignal): Promise<boolean> {
    if (signal.aborted) return false;
    const failures = this.#failures;
    this.#failures += 1;
    // A stream that ended in order and brought something: ask at once whether there is more.
    if (end.how === 'finished' && failures === 0) return true;
    const error: ApiError =
      end.how === 'lost'
        ? end.error
        : { status: 0, code: 'closed', message: 'the server closed the connection' };
    if (this.#failures > (this.#options.maxFailures ?? Infinity)) {
      this.#setStatus({ state: 'failed', error });
      return false;
    }
    const most = this.#options.maxDelay ?? 15_000;
    const ceiling = Math.min(most, this.#firstDelay * 2 ** Math.min(failures, 20));
    const spread = ceiling * (0.5 + (this.#options.random ?? Math.random)() / 2);
    const asked = end.how === 'lost' ? (end.retryAfter ?? 0) : 0;
    const delay = Math.max(spread, Math.min(asked, most));
    this.#setStatus({ state: 'waiting', delay, error });
    await this.#sleep(delay, signal);
    return !signal.aborted;
  }

  #sleep(delay: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', wake);
        this.#wake = undefined;
        resolve();
      };
      const timer = setTimeout(wake, delay);
      this.#wake = wake;
      signal.addEventListener('abort', wake);
      if (signal.aborted) wake();
    });
  }

  #setStatus(status: StreamStatus): void {
    if (status.state === this.#status.state && status.state !== 'waiting') return;
    this.#status = status;
    this.#options.onStatus?.(status);
  }
}

/** Classify a refusal as permanent or transient. */
async function refusal(response: Response): Promise<End> {
  const error = await errorOf(response);
  if (response.status < 500 && !PASSING.has(response.status)) return { how: 'refused', error };
  const seconds = Number(response.headers.get('retry-after') ?? NaN);
  return seconds > 0 ? { how: 'lost', error, retryAfter: seconds * 1000 } : { how: 'lost', error };
}

async function notEvents(response: Response): Promise<ApiError | undefined> {
  const type = response.headers.get('content-type') ?? '';
  if (/^text\/event-stream\b/i.test(type)) return undefined;
  await response.body?.cancel();
  return {
    status: response.status,
    code: 'not_a_stream',
    message: `the server answered with ${type === '' ? 'no content type' : type}, not with an event stream`,
  };
}

/**
 * Return the event if it is valid and has a sequence number. Anything else leaves a gap, which
 * causes a new request.
 */
function eventIn(data: string): Numbered | undefined {
  try {
    const event = parseExact(data);
    return !faultIn(event) && (event as Numbered).sequenceNumber ? (event as Numbered) : undefined;
  } catch {
    // Not JSON.
    return undefined;
  }
}
