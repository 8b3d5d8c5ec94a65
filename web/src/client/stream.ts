/**
 * The events of a chat as one stream that outlives its connections.
 *
 * Built on `fetch` rather than `EventSource`, because headers, 204 and the reasons of failures
 * matter here. A connection that ends, breaks or falls silent is followed by another that goes on
 * after the last event that was seen; what comes twice is dropped.
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

/** Where a stream stands. */
export type StreamStatus =
  | { state: 'connecting' }
  /** Connected; whatever happens is told at once. */
  | { state: 'live' }
  /** The connection was lost; the next is opened in `delay` ms. */
  | { state: 'waiting'; delay: number; error: ApiError }
  /** The server has no more to tell, or the stream was stopped. */
  | { state: 'ended' }
  /** The server refuses, and would again. */
  | { state: 'failed'; error: ApiError };

export interface StreamOptions {
  /** The sequence number after which to begin; 0 is the beginning of the chat. */
  after?: number;
  /** Ends the stream. */
  signal?: AbortSignal;
  /** Sent with every request. */
  headers?: Record<string, string>;
  /** Called whenever the status changes; it is `connecting` at first. */
  onStatus?: (status: StreamStatus) => void;
  /** How long, in ms, a connection may say nothing; more than two heartbeats of the server. */
  silence?: number;
  /** The wait, in ms, after a first failure; each further one doubles it. */
  firstDelay?: number;
  /** The longest wait between two attempts, in ms. */
  maxDelay?: number;
  /** Failures in a row after which to give up. */
  maxFailures?: number;
  /** What requests are made with. */
  fetch?: typeof fetch;
  /** Numbers in [0, 1) that spread the attempts of many clients. */
  random?: () => number;
}

/** Statuses of refusals that may pass. */
const PASSING = new Set([408, 425, 429]);

/** How one connection ended. */
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
  /** Ends the wait before the next attempt. */
  #wake: (() => void) | undefined;
  /** Ends the wait for a sign of life. */
  #giveUp: (() => void) | undefined;
  /** When the wait for a sign of life began, in ms since 1970. */
  #heardAt = 0;
  /** A cursor and the number that came next without being next: asked for once more. */
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

  /** The sequence number of the last event that was handed out: where another stream goes on. */
  get lastSequenceNumber(): number {
    return this.#cursor;
  }

  /**
   * Connects now instead of after the wait, for instance when the network is back. A connection
   * that should have said something lately is given up: machines that sleep lose theirs unnoticed.
   */
  reconnect(): void {
    this.#wake?.();
    if (Date.now() - this.#heardAt > this.#silence / 2) this.#giveUp?.();
  }

  /** Ends the stream; what is being read is given up. */
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
          this.#tell({ state: 'failed', error: end.error });
          return;
        }
        if (!(await this.#pause(end, signal))) return;
      }
    } finally {
      this.#stopping.abort();
      if (this.#status.state !== 'failed') this.#tell({ state: 'ended' });
    }
  }

  /** Reads one connection to its end. */
  async *#connection(outer: AbortSignal): AsyncGenerator<Numbered, End, undefined> {
    this.#tell({ state: 'connecting' });
    const connection = new AbortController();
    const signal = AbortSignal.any([outer, connection.signal]);
    try {
      const response = await this.#heard(connection, this.#request(signal));
      if (response.status === 204) return { how: 'over' };
      if (!response.ok) return await this.#heard(connection, refusal(response));
      const refused = await notEvents(response);
      if (refused) return { how: 'refused', error: refused };
      this.#tell({ state: 'live' });
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

  /** Whether an event is new, was there before, or has come too early. */
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

  /** What `work` comes to, unless it takes longer than a living connection may be silent. */
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

  /** Waits before the next attempt; false where there is to be none. */
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
      this.#tell({ state: 'failed', error });
      return false;
    }
    const most = this.#options.maxDelay ?? 15_000;
    const ceiling = Math.min(most, this.#firstDelay * 2 ** Math.min(failures, 20));
    const spread = ceiling * (0.5 + (this.#options.random ?? Math.random)() / 2);
    const asked = end.how === 'lost' ? (end.retryAfter ?? 0) : 0;
    const delay = Math.max(spread, Math.min(asked, most));
    this.#tell({ state: 'waiting', delay, error });
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

  #tell(status: StreamStatus): void {
    if (status.state === this.#status.state && status.state !== 'waiting') return;
    this.#status = status;
    this.#options.onStatus?.(status);
  }
}

/** A refusal for good, or one that may pass. */
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
 * The event, if it is one and has its place in the chat. What is not, leaves a gap, and that makes
 * us ask again.
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
