/**
 * One chat that is open on the page: what the server tells of it, summed up, and what the person
 * does in it.
 *
 * All that is shown comes from the event log. So a reload, a lost connection and a second tab need
 * nothing of their own: they read on from where they are.
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
import { isOver } from '../calls/states.ts';
import { sentence } from '../text/words.ts';
import type { Snapshot } from '../types.ts';
import type { ChatActions, Decision } from './actions.ts';

/** Something that was said and is not in the log yet. */
export interface Unsent {
  messageId: string;
  text: string;
  /** Why it could not be sent, where that is so. */
  problem?: string;
}

const nothing: Snapshot = new StreamReducer().snapshot();
/** Milliseconds between two looks at the events, at least. */
const pace = 40;
/** The ends of runs after which there is more to come, if somebody asks for it. */
const brokenOff = new Set(['interrupted', 'error', 'cancelled', 'max_iterations', 'rate_limited']);
/** Milliseconds after which a tab that nobody sees lets go of its connection. */
const patience = 2_000;

export class ChatSession implements ChatActions {
  readonly chatId: string;
  readonly isNew: boolean;
  readonly #api: ChatApi;
  readonly #reducer: StreamReducer;
  #stream: EventStream | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #hiding: ReturnType<typeof setTimeout> | undefined;
  #ticker: ReturnType<typeof setInterval> | undefined;
  #cost = 0;
  #closed = false;

  /** The chat as it stands. */
  snapshot: Snapshot = $state.raw(nothing);
  status: StreamStatus = $state.raw({ state: 'connecting' });
  unsent: Unsent | undefined = $state.raw();
  /** Whether the run was told to stop, and has not stopped yet. */
  stopping = $state(false);
  /** Whether the events that were there when the chat was opened have been read. */
  loaded = $state(false);

  /** The run that goes on, if one does. */
  readonly activeRun = $derived(this.snapshot.runs.findLast((run) => run.status === 'started'));
  /** Whether the last run broke off, so that the model could go on. */
  readonly brokeOff = $derived(brokenOff.has(this.snapshot.runs.at(-1)?.stopReason ?? ''));
  /** Whether nothing can be said now. */
  readonly busy = $derived(
    this.activeRun !== undefined ||
      (this.unsent !== undefined && this.unsent.problem === undefined),
  );

  /**
   * @param pendingTimeout Milliseconds after which a call without a result counts as timed out.
   * @param isNew Whether nothing was said in the chat before.
   */
  constructor(api: ChatApi, chatId: string, pendingTimeout: number, isNew = false) {
    this.#api = api;
    this.chatId = chatId;
    this.isNew = isNew;
    this.#reducer = new StreamReducer({ pendingTimeout });
  }

  /** Follows the chat until `close`. */
  open(): void {
    document.addEventListener('visibilitychange', this.#onVisibility);
    addEventListener('online', this.reconnect);
    // A call that nobody answers times out without an event that would say so.
    this.#ticker = setInterval(() => {
      if (this.#hasOpenCalls()) this.#look();
    }, 1000);
    this.#onVisibility();
  }

  close(): void {
    this.#closed = true;
    document.removeEventListener('visibilitychange', this.#onVisibility);
    removeEventListener('online', this.reconnect);
    clearTimeout(this.#timer);
    clearTimeout(this.#hiding);
    clearInterval(this.#ticker);
    this.#stream?.stop();
  }

  /** Connects at once where the next attempt would be later, or never. */
  reconnect = (): void => {
    this.#stream?.reconnect();
    void this.#follow();
  };

  /** Says `text`. The same `messageId` again says it only once. */
  async send(text: string, messageId: string = newId()): Promise<boolean> {
    this.unsent = { messageId, text };
    const said = await this.#api.send(this.chatId, text, messageId);
    if (!said.ok) {
      this.unsent = { messageId, text, problem: sentenceOf(said.error) };
      return false;
    }
    if (this.#isLogged(messageId)) this.unsent = undefined;
    this.reconnect();
    return true;
  }

  /** Tries once more to say what could not be sent. */
  async sayAgain(): Promise<void> {
    if (this.unsent !== undefined) await this.send(this.unsent.text, this.unsent.messageId);
  }

  /** Lets the model go on where a run broke off; resolves to a sentence where that failed. */
  async resume(): Promise<string | undefined> {
    const said = await this.#api.resume(this.chatId);
    this.reconnect();
    return said.ok ? undefined : sentenceOf(said.error);
  }

  /** Gives back what could not be sent, and forgets it. */
  takeBack(): string {
    const text = this.unsent?.text ?? '';
    this.unsent = undefined;
    return text;
  }

  /** Stops the run that goes on; resolves to a sentence where that failed. */
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
        // What is no event stays a gap in the snapshot, which the page tells of.
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
        this.#look();
      },
      Math.max(pace, 2 * this.#cost),
    );
  }

  /** Sums up what has come. Whatever that costs, the page has as much time for everything else. */
  #look(): void {
    const began = performance.now();
    this.snapshot = this.#reducer.snapshot(Date.now());
    this.loaded = true;
    if (this.unsent !== undefined && this.#isLogged(this.unsent.messageId)) this.unsent = undefined;
    if (this.activeRun === undefined) this.stopping = false;
    this.#cost = performance.now() - began;
  }

  #hasOpenCalls(): boolean {
    return this.snapshot.messages.some((message) =>
      message.toolCalls?.some((call) => !isOver(call)),
    );
  }

  #isLogged(messageId: string): boolean {
    return this.snapshot.messages.some((message) => message.messageId === messageId);
  }

  /**
   * Browsers open about six connections to a server, whatever the number of tabs: one that nobody
   * sees must not keep another from loading. It reads on from its place when it is seen again.
   */
  readonly #onVisibility = (): void => {
    clearTimeout(this.#hiding);
    this.reconnect();
    if (document.visibilityState === 'hidden') {
      this.#hiding = setTimeout(() => {
        this.#stream?.stop();
        this.#stream = undefined;
      }, patience);
    }
  };
}

/** What went wrong, for people. */
export function sentenceOf(error: ApiError): string {
  return sentence(error.message);
}
