/**
 * The server's routes as typed calls, whose failures are data.
 *
 * ```ts
 * const api = new ChatApi();
 * const chat = await api.createChat();
 * if (chat.ok) await api.say(chat.value.chatId, 'How is the weather in Oslo?');
 * ```
 */

import { stringifyExact } from './exact.ts';
import { type ApiError, type Result, errorFrom, errorOf } from './http.ts';
import { EventStream, type StreamOptions } from './stream.ts';

export type { ApiError, Result };

/** A chat as the list has it. */
export interface ChatInfo {
  chatId: string;
  /** When it was made, and last written to, in milliseconds since 1970. */
  createdUtc: number;
  updatedUtc: number;
  /** The number of its last event. */
  lastSequenceNumber: number;
  metadata: Record<string, unknown>;
  /** The `title` of its metadata, or else the beginning of what was said first. */
  title?: string;
}

/** A chat, and what goes on in it. */
export interface ChatDetails extends ChatInfo {
  /** The run that goes on, if one does. */
  runId?: string;
  /** What waits for an answer. */
  pending: { key: string; kind: 'approval' | 'question' | 'deferred' }[];
}

/** What became of something said. */
export interface Said {
  chatId: string;
  /** The run that answers it. */
  runId: string;
  messageId: string;
  /** The number of the first event of it. */
  sequenceNumber: number;
}

/** A decision on a call that waits for approval, or the result that it waits for. */
export type Answer =
  { approved: boolean; reason?: string } | { result: unknown; isError?: boolean };

/** What an answer came to; where it was not taken, that is the code of an error. */
export interface Answered {
  outcome: string;
}

/** How the server wants its page to be. */
export interface Playground {
  title: string;
  /** The heading of the front page. */
  headline: string;
  suggestions: { label: string; text: string }[];
  /** Milliseconds after which a call without a result is shown as timed out. */
  pendingTimeout: number;
  [field: string]: unknown;
}

export interface ChatApiOptions {
  /** Where the routes begin: by default beside the page. */
  base?: string;
  /** Sent with every request. */
  headers?: Record<string, string>;
  /** Milliseconds until a call without an answer is given up. */
  timeout?: number;
  /** What requests are made with. */
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

  /** The chats of this user, the latest first; `before` is the id of the last one known. */
  async chats(page: { limit?: number; before?: string } = {}): Promise<Result<ChatInfo[]>> {
    const answer = await this.#call<{ chats: ChatInfo[] }>('GET', `/chats${query(page)}`);
    return answer.ok ? { ok: true, value: answer.value.chats } : answer;
  }

  chat(chatId: string): Promise<Result<ChatDetails>> {
    return this.#call('GET', this.#chat(chatId));
  }

  /**
   * Says something. With the same `messageId` again, for instance after a failure of which
   * nobody knows how far it got, it is said only once.
   */
  say(chatId: string, text: string, messageId: string = newId()): Promise<Result<Said>> {
    return this.#call('POST', `${this.#chat(chatId)}/messages`, { text, messageId });
  }

  /** Lets the model go on from what the chat holds. */
  goOn(chatId: string): Promise<Result<Omit<Said, 'messageId'>>> {
    return this.#call('POST', `${this.#chat(chatId)}/messages`, {});
  }

  stop(chatId: string, runId: string): Promise<Result<unknown>> {
    return this.#call('POST', `${this.#chat(chatId)}/runs/${encodeURIComponent(runId)}/stop`, {});
  }

  /** Answers what a call waits for, by the `key` of its state. */
  answer(chatId: string, key: string, answer: Answer): Promise<Result<Answered>> {
    return this.#call('POST', `${this.#chat(chatId)}/answers/${encodeURIComponent(key)}`, answer);
  }

  /** Deletes a chat and all that belongs to it. */
  remove(chatId: string): Promise<Result<unknown>> {
    return this.#call('DELETE', this.#chat(chatId));
  }

  /** Where a whole chat is downloaded as JSON lines. */
  exportUrl(chatId: string): string {
    return this.#base + this.#chat(chatId) + '/export';
  }

  playground(): Promise<Result<Playground>> {
    return this.#call('GET', '/playground.json');
  }

  /** The events of a chat, past and to come, until the stream is stopped. */
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

/** An id that nobody else makes; `randomUUID` itself exists on secure pages only. */
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
