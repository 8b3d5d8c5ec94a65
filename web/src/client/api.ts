/**
 * Typed calls of the server's routes. Failures are returned as data.
 *
 * ```ts
 * const api = new ChatApi();
 * const chat = await api.createChat();
 * if (chat.ok) await api.send(chat.value.chatId, 'How is the weather in Oslo?');
 * ```
 */

import { stringifyExact } from './exact.ts';
import { type ApiError, type Result, errorFrom, errorOf } from './http.ts';
import { EventStream, type StreamOptions } from './stream.ts';

export type { ApiError, Result };

/** An entry of the list of chats. */
export interface ChatInfo {
  chatId: string;
  /** Times of creation and of the last write, in milliseconds since 1970. */
  createdUtc: number;
  updatedUtc: number;
  /** Sequence number of the last event. */
  lastSequenceNumber: number;
  metadata: Record<string, unknown>;
  /** The `title` of the metadata, or the beginning of the first message. */
  title?: string;
}

/** A chat with its active run and pending inputs. */
export interface ChatDetails extends ChatInfo {
  /** The active run, if any. */
  runId?: string;
  /** Approvals and questions that wait for an answer. */
  pending: { key: string; kind: 'approval' | 'question' | 'deferred' }[];
}

/** Receipt of a message. */
export interface MessageReceipt {
  chatId: string;
  /** The run that answers the message. */
  runId: string;
  messageId: string;
  /** Sequence number of the first event of the message. */
  sequenceNumber: number;
}

/** A decision on a call that waits for approval, or a deferred result. */
export type Answer =
  { approved: boolean; reason?: string } | { result: unknown; isError?: boolean };

/** Outcome of an answer; an error code if it was not accepted. */
export interface Answered {
  outcome: string;
}

/**
 * Settings of the page, as the server sends them.
 *
 * @internal
 */
export interface Playground {
  title: string;
  /** Heading of the front page. Absent for the page's own, in the user's language. */
  headline?: string;
  /** Text below the headline; empty lines separate paragraphs. Absent for the page's own. */
  intro?: string;
  /** Text in the empty message box. Absent for the page's own. */
  placeholder?: string;
  suggestions: { label: string; text: string }[];
  links: { label: string; url: string }[];
  /** True if `/logo` is an image to show instead of the default one. */
  hasLogo: boolean;
  /** Milliseconds after which a call without a result is shown as timed out. */
  pendingTimeout: number;
  [field: string]: unknown;
}

export interface ChatApiOptions {
  /** URL prefix of the routes; the page's own folder by default. */
  base?: string;
  /** Headers of every request. */
  headers?: Record<string, string>;
  /** Timeout of a request in milliseconds. */
  timeout?: number;
  /** Implementation of `fetch`. */
  fetch?: typeof fetch;
}

export class ChatApi {
  readonly #base: string;
  readonly #headers: Record<string, string>;
  readonly #timeout: number;
  readonly #fetch: typeof fetch;

  constructor(options: ChatApiOptions = {}) {
    this.#base = options.base ?? '.';
    this.#headers = options.headers ?? {};
    this.#timeout = options.timeout ?? 30_000;
    // `fetch` insists on being called on nothing but the window.
    const request = options.fetch ?? fetch;
    this.#fetch = (...args) => request(...args);
  }

  createChat(
    chat: { chatId?: string; metadata?: object } = {},
  ): Promise<Result<{ chatId: string }>> {
    return this.#call('POST', '/chats', chat);
  }

  /** List the user's chats, the latest first; `before` is the id of the last known chat. */
  async chats(page: { limit?: number; before?: string } = {}): Promise<Result<ChatInfo[]>> {
    const answer = await this.#call<{ chats: ChatInfo[] }>('GET', `/chats${query(page)}`);
    return answer.ok ? { ok: true, value: answer.value.chats } : answer;
  }

  chat(chatId: string): Promise<Result<ChatDetails>> {
    return this.#call('GET', this.#chat(chatId));
  }

  /**
   * Send a message. A repeated `messageId`, for instance after a lost connection, adds no second
   * message.
   */
  send(chatId: string, text: string, messageId: string = newId()): Promise<Result<MessageReceipt>> {
    return this.#call('POST', `${this.#chat(chatId)}/messages`, { text, messageId });
  }

  /** Start a run without a new message. */
  resume(chatId: string): Promise<Result<Omit<MessageReceipt, 'messageId'>>> {
    return this.#call('POST', `${this.#chat(chatId)}/messages`, {});
  }

  stop(chatId: string, runId: string): Promise<Result<unknown>> {
    return this.#call('POST', `${this.#chat(chatId)}/runs/${encodeURIComponent(runId)}/stop`, {});
  }

  /** Answer an approval, a question or a deferred call, by the `key` of its state. */
  answer(chatId: string, key: string, answer: Answer): Promise<Result<Answered>> {
    return this.#call('POST', `${this.#chat(chatId)}/answers/${encodeURIComponent(key)}`, answer);
  }

  /** Delete a chat with its messages, events and runs. */
  remove(chatId: string): Promise<Result<unknown>> {
    return this.#call('DELETE', this.#chat(chatId));
  }

  /** Return the URL that exports a chat as JSON lines. */
  exportUrl(chatId: string): string {
    return this.#base + this.#chat(chatId) + '/export';
  }

  /** @internal */
  playground(): Promise<Result<Playground>> {
    return this.#call('GET', '/playground.json');
  }

  /** Stream the past and future events of a chat until the stream is stopped. */
  events(chatId: string, options: StreamOptions = {}): EventStream {
    return new EventStream(`${this.#base}${this.#chat(chatId)}/events?follow=1`, {
      fetch: this.#fetch,
      ...options,
      headers: { ...this.#headers, ...options.headers },
    });
  }

  #chat(chatId: string): string {
    return `/chats/${encodeURIComponent(chatId)}`;
  }

  async #call<T>(method: string, path: string, body?: unknown): Promise<Result<T>> {
    const headers: Record<string, string> = { ...this.#headers, accept: 'application/json' };
    const init: RequestInit = { method, headers, signal: AbortSignal.timeout(this.#timeout) };
    if (body !== undefined) {
      headers['content-type'] = 'application/json';
      init.body = stringifyExact(body) ?? null;
    }
    try {
      const response = await this.#fetch(this.#base + path, init);
      if (!response.ok) return { ok: false, error: await errorOf(response) };
      const text = await response.text();
      // What the server's routes answer is the server's promise, which its own tests keep.
      return { ok: true, value: (text === '' ? undefined : JSON.parse(text)) as T };
    } catch (thrown) {
      return { ok: false, error: errorFrom(thrown) };
    }
  }
}

/** Return a random unique id; `randomUUID` exists on secure pages only. */
export function newId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

function query(parameters: Record<string, string | number | undefined>): string {
  const given = Object.entries(parameters).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)]],
  );
  return given.length > 0 ? `?${new URLSearchParams(given).toString()}` : '';
}
