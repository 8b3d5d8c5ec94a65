/**
 * A chat that is followed for as long as something shows it.
 *
 * `subscribe` and `getState` are what stores of front-end frameworks consist of. In React:
 *
 * ```tsx
 * const chat = new LiveChat(new ChatApi(), chatId);
 *
 * function Conversation() {
 *   const { snapshot } = useSyncExternalStore(chat.subscribe, chat.getState);
 *   return snapshot.messages.map((message) => <p key={message.messageId}>{message.text}</p>);
 * }
 * ```
 */

import type { Answer, Answered, ChatApi, MessageReceipt, Result } from './api.ts';
import type { CallState, Snapshot, SnapshotRun } from './events.ts';
import { type ReducerOptions, StreamReducer } from './reducer.ts';
import type { EventStream, StreamStatus } from './stream.ts';

/** State of a chat, to be rendered. Do not modify it. */
export interface ChatState {
  /** Messages with their calls, runs and all else that the events reduce to. */
  snapshot: Snapshot;
  /** Status of the connection; `ended` without subscribers. */
  status: StreamStatus;
  /** The active run, if any. The server accepts no message until it has ended. */
  activeRun?: SnapshotRun;
}

export interface LiveChatOptions extends ReducerOptions {
  /** Minimum interval between two changes of the state in ms; 40 by default. */
  interval?: number;
}

/** Milliseconds between two looks for calls that have timed out: that is no event. */
const TICK = 1000;
/** States of calls that may time out. */
const OPEN: ReadonlySet<CallState> = new Set(['writing', 'pending', 'running', 'approved']);

/** The state of one chat, kept current while there are subscribers. */
export class LiveChat {
  readonly chatId: string;
  readonly #api: ChatApi;
  readonly #reducer: StreamReducer;
  readonly #interval: number;
  readonly #listeners = new Set<{ listener: () => void }>();
  #stream: EventStream | undefined;
  #status: StreamStatus = { state: 'ended' };
  #state: ChatState;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #ticker: ReturnType<typeof setTimeout> | undefined;
  /** Duration of the last refresh in ms. */
  #refreshTime = 0;

  constructor(api: ChatApi, chatId: string, options: LiveChatOptions = {}) {
    this.#api = api;
    this.chatId = chatId;
    this.#interval = options.interval ?? 40;
    this.#reducer = new StreamReducer(options);
    this.#state = { snapshot: this.#reducer.snapshot(), status: this.#status };
  }

  /** Return the state of the chat: the same object until it changes. */
  readonly getState = (): ChatState => this.#state;

  /**
   * Call a function after each change of the state. Return a function that unsubscribes it.
   *
   * The chat is read from the first subscription on. After the last one has ended the connection
   * is closed, which does not stop a run; the next subscription resumes.
   */
  readonly subscribe = (listener: () => void): (() => void) => {
    const subscription = { listener };
    this.#listeners.add(subscription);
    void this.#follow();
    return () => {
      if (this.#listeners.delete(subscription) && this.#listeners.size === 0) this.#close();
    };
  };

  /** Connect now instead of after the backoff, for instance when the network is back. */
  reconnect(): void {
    this.#stream?.reconnect();
    void this.#follow();
  }

  /** Send a message. A repeated `messageId` adds no second message. */
  async send(text: string, messageId?: string): Promise<Result<MessageReceipt>> {
    return this.#reconnected(await this.#api.send(this.chatId, text, messageId));
  }

  /** Start a run without a new message, for instance after one that failed. */
  async resume(): Promise<Result<Omit<MessageReceipt, 'messageId'>>> {
    return this.#reconnected(await this.#api.resume(this.chatId));
  }

  /** Answer an approval, a question or a deferred call, by the `key` of the call. */
  async answer(key: string, answer: Answer): Promise<Result<Answered>> {
    return this.#reconnected(await this.#api.answer(this.chatId, key, answer));
  }

  /** Stop the active run. Without one, nothing is sent. */
  async stop(): Promise<Result<unknown>> {
    const { activeRun } = this.#state;
    if (activeRun === undefined) return { ok: true, value: undefined };
    return await this.#api.stop(this.chatId, activeRun.runId);
  }

  #reconnected<T>(result: Result<T>): Result<T> {
    if (result.ok) this.reconnect();
    return result;
  }

  async #follow(): Promise<void> {
    if (this.#stream !== undefined || this.#listeners.size === 0) return;
    const stream = this.#api.events(this.chatId, {
      after: this.#reducer.lastSequenceNumber,
      onStatus: (status) => {
        if (this.#stream === stream) this.#setStatus(status);
      },
    });
    this.#stream = stream;
    this.#setStatus(stream.status);
    for await (const event of stream) {
      this.#reducer.push(event);
      this.#schedule();
    }
    if (this.#stream === stream) this.#stream = undefined;
  }

  #close(): void {
    const stream = this.#stream;
    this.#stream = undefined;
    stream?.stop();
    clearTimeout(this.#timer);
    clearTimeout(this.#ticker);
    this.#timer = undefined;
    this.#status = { state: 'ended' };
    this.#state = { ...this.#state, status: this.#status };
  }

  #setStatus(status: StreamStatus): void {
    this.#status = status;
    this.#schedule();
  }

  /** Refresh soon: a state that takes long to compute and to render is refreshed less often. */
  #schedule(): void {
    if (this.#listeners.size === 0) return;
    this.#timer ??= setTimeout(
      () => {
        this.#timer = undefined;
        this.#refresh();
      },
      Math.max(this.#interval, 2 * this.#refreshTime),
    );
  }

  #refresh(): void {
    const began = performance.now();
    const snapshot = this.#reducer.snapshot(Date.now());
    clearTimeout(this.#ticker);
    if (mayTimeOut(snapshot)) this.#ticker = setTimeout(() => this.#refresh(), TICK);
    const changed = snapshot !== this.#state.snapshot || this.#status !== this.#state.status;
    if (changed) {
      const activeRun = snapshot.runs.findLast(({ status }) => status === 'started');
      this.#state = { snapshot, status: this.#status, ...(activeRun && { activeRun }) };
      for (const { listener } of [...this.#listeners]) listener();
    }
    this.#refreshTime = performance.now() - began;
  }
}

function mayTimeOut({ messages }: Snapshot): boolean {
  return messages.some(({ toolCalls }) => toolCalls?.some(({ state }) => OPEN.has(state)));
}
