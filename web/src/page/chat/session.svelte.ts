/**
 * A chat that is open on the page: the snapshot of its events, and the user's actions.
 *
 * The page shows only state derived from the event log, so reloads, lost connections and extra
 * tabs need no special handling: they resume from their last sequence number.
 */

import {
  newId,
  StreamEventError,
  StreamReducer,
  type ApiError,
  type ChatApi,
  type EventStream,
  type StreamStatus,
} from '../../client/index.ts';
import { isFinished } from '../calls/states.ts';
import { sentence } from '../text/format.ts';
import type { Snapshot } from '../types.ts';
import type { ChatActions, Decision } from './actions.ts';

/** A message that is not in the event log yet. */
export interface Unsent {
  messageId: string;
  text: string;
  /** Reason that sending failed; absent while the message is on its way. */
  problem?: string;
}

const emptySnapshot: Snapshot = new StreamReducer().snapshot();
/** Minimum interval between two snapshots, in milliseconds. */
const minRefreshInterval = 40;
/** Stop reasons after which a run can be resumed. */
const resumableReasons = new Set([
  'interrupted',
  'error',
  'cancelled',
  'max_iterations',
  'rate_limited',
]);
/** Milliseconds after which a hidden tab closes its connection. */
const hiddenTimeout = 2_000;

/** A connection to one chat, with the current snapshot of its events. */
export class ChatSession implements ChatActions {
  readonly chatId: string;
  readonly isNew: boolean;
  readonly #api: ChatApi;
  readonly #reducer: StreamReducer;
  #stream: EventStream | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #hiddenTimer: ReturnType<typeof setTimeout> | undefined;
  #ticker: ReturnType<typeof setInterval> | undefined;
  #refreshTime = 0;
  #closed = false;

  /** The current state of the chat. */
  snapshot: Snapshot = $state.raw(emptySnapshot);
  status: StreamStatus = $state.raw({ state: 'connecting' });
  unsent: Unsent | undefined = $state.raw();
  /** True if the run was asked to stop and has not stopped yet. */
  stopping = $state(false);
  /** True if the first snapshot of the chat has been taken. */
  loaded = $state(false);

  /** The active run, if there is one. */
  readonly activeRun = $derived(this.snapshot.runs.findLast((run) => run.status === 'started'));
  /** True if the last run ended early and can be resumed. */
  readonly resumable = $derived(resumableReasons.has(this.snapshot.runs.at(-1)?.stopReason ?? ''));
  /** True if no message can be sent now. */
  readonly busy = $derived(
    this.activeRun !== undefined ||
      (this.unsent !== undefined && this.unsent.problem === undefined),
  );

  /**
   * @param pendingTimeout Milliseconds after which a call without a result counts as timed out.
   * @param isNew True if the chat has no messages yet.
   */
  constructor(api: ChatApi, chatId: string, pendingTimeout: number, isNew = false) {
    this.#api = api;
    this.chatId = chatId;
    this.isNew = isNew;
    this.#reducer = new StreamReducer({ pendingTimeout });
  }

  /** Follow the chat until `close`. */
  open(): void {
    document.addEventListener('visibilitychange', this.#onVisibility);
    addEventListener('online', this.reconnect);
    // A call without a result times out without an event, so the snapshot is taken again.
    this.#ticker = setInterval(() => {
      if (this.#hasOpenCalls()) this.#refresh();
    }, 1000);
    this.#onVisibility();
  }

  close(): void {
    this.#closed = true;
    document.removeEventListener('visibilitychange', this.#onVisibility);
    removeEventListener('online', this.reconnect);
    clearTimeout(this.#timer);
    clearTimeout(this.#hiddenTimer);
    clearInterval(this.#ticker);
    this.#stream?.stop();
  }

  /** Reconnect now, instead of waiting for the next attempt. */
  reconnect = (): void => {
    this.#stream?.reconnect();
    void this.#follow();
  };

  /** Send a message. Sending the same `messageId` again does not duplicate it. */
  async send(text: string, messageId: string = newId()): Promise<boolean> {
    this.unsent = { messageId, text };
    const sent = await this.#api.send(this.chatId, text, messageId);
    if (!sent.ok) {
      this.unsent = { messageId, text, problem: sentenceOf(sent.error) };
      return false;
    }
    if (this.#isLogged(messageId)) this.unsent = undefined;
    this.reconnect();
    return true;
  }

  /** Send the unsent message again, under the same id. */
  async resend(): Promise<void> {
    if (this.unsent !== undefined) await this.send(this.unsent.text, this.unsent.messageId);
  }

  /** Resume the last run; return a message for the user if that failed. */
  async resume(): Promise<string | undefined> {
    const resumed = await this.#api.resume(this.chatId);
    this.reconnect();
    return resumed.ok ? undefined : sentenceOf(resumed.error);
  }

  /** Remove the unsent message and return its text. */
  takeUnsent(): string {
    const text = this.unsent?.text ?? '';
    this.unsent = undefined;
    return text;
  }

  /** Stop the active run; return a message for the user if that failed. */
  async stop(): Promise<string | undefined> {
    const run = this.activeRun;
    if (run === undefined || this.stopping) return undefined;
    this.stopping = true;
    const stopped = await this.#api.stop(this.chatId, run.runId);
    if (stopped.ok) return undefined;
    this.stopping = false;
    return sentenceOf(stopped.error);
  }

  async answer(key: string, decision: Decision): Promise<void> {
    const answered = await this.#api.answer(this.chatId, key, decision);
    if (!answered.ok) throw new Error(sentenceOf(answered.error));
  }

  async #follow(): Promise<void> {
    if (this.#stream !== undefined || this.#closed) return;
    const stream = this.#api.events(this.chatId, {
      after: this.#reducer.lastSequenceNumber,
      onStatus: (status) => {
        if (this.#stream !== stream) return;
        this.status = status;
        if (status.state === 'live') this.#schedule();
      },
    });
    this.#stream = stream;
    for await (const event of stream) {
      try {
        this.#reducer.push(event);
      } catch (error) {
        // An invalid event remains a gap in the snapshot, which the page shows.
        if (!(error instanceof StreamEventError)) throw error;
      }
      this.#schedule();
    }
    if (this.#stream === stream) this.#stream = undefined;
  }

  #schedule(): void {
    this.#timer ??= setTimeout(
      () => {
        this.#timer = undefined;
        this.#refresh();
      },
      Math.max(minRefreshInterval, 2 * this.#refreshTime),
    );
  }

  /** Take a snapshot, and measure how long that takes so that `#schedule` can pace the next one. */
  #refresh(): void {
    const began = performance.now();
    this.snapshot = this.#reducer.snapshot(Date.now());
    this.loaded = true;
    if (this.unsent !== undefined && this.#isLogged(this.unsent.messageId)) this.unsent = undefined;
    if (this.activeRun === undefined) this.stopping = false;
    this.#refreshTime = performance.now() - began;
  }

  #hasOpenCalls(): boolean {
    return this.snapshot.messages.some((message) =>
      message.toolCalls?.some((call) => !isFinished(call)),
    );
  }

  #isLogged(messageId: string): boolean {
    return this.snapshot.messages.some((message) => message.messageId === messageId);
  }

  /**
   * Close the connection while the tab is hidden, and resume when it is visible again.
   *
   * Browsers allow about six connections to a server across all tabs, so hidden tabs must not
   * prevent others from loading.
   */
  readonly #onVisibility = (): void => {
    clearTimeout(this.#hiddenTimer);
    this.reconnect();
    if (document.visibilityState === 'hidden') {
      this.#hiddenTimer = setTimeout(() => {
        this.#stream?.stop();
        this.#stream = undefined;
      }, hiddenTimeout);
    }
  };
}

/** Return the message of an error as a sentence for the user. */
export function sentenceOf(error: ApiError): string {
  return sentence(error.message);
}
