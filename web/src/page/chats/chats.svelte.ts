/** The chats of this person, as the server lists them, the same in every tab. */

import type { ApiError, ChatApi, ChatInfo } from '../../client/index.ts';
import { textIn } from '../types.ts';

export class Chats {
  readonly #api: ChatApi;
  readonly #others = new BroadcastChannel('toolweave chats');

  list: ChatInfo[] = $state.raw([]);
  problem: ApiError | undefined = $state.raw();

  constructor(api: ChatApi) {
    this.#api = api;
  }

  /** Keeps the list current until `close`. */
  open(): void {
    this.#others.addEventListener('message', this.refresh);
    addEventListener('focus', this.refresh);
    this.refresh();
  }

  close(): void {
    removeEventListener('focus', this.refresh);
    this.#others.close();
  }

  refresh = (): void => {
    void this.#load();
  };

  /** Makes a chat that is called after the first thing said in it. */
  async create(text: string): Promise<{ chatId: string } | { problem: ApiError }> {
    const created = await this.#api.createChat({ metadata: { title: titleFor(text) } });
    if (!created.ok) return { problem: created.error };
    this.#changed();
    return { chatId: created.value.chatId };
  }

  async remove(chatId: string): Promise<ApiError | undefined> {
    const removed = await this.#api.remove(chatId);
    if (!removed.ok && removed.error.status !== 404) return removed.error;
    this.list = this.list.filter((chat) => chat.chatId !== chatId);
    this.#changed();
    return undefined;
  }

  async #load(): Promise<void> {
    const chats = await this.#api.chats();
    if (chats.ok) this.list = chats.value;
    this.problem = chats.ok ? undefined : chats.error;
  }

  #changed(): void {
    this.#others.postMessage('changed');
    this.refresh();
  }
}

const longest = 60;
const dayAndMonth = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' });

/** The first words of `text`. */
export function titleFor(text: string): string {
  const line = text.trim().replaceAll(/\s+/g, ' ');
  if (line.length <= longest) return line;
  const cut = line.slice(0, longest);
  return `${cut.slice(0, Math.max(cut.lastIndexOf(' '), longest / 2)).trimEnd()} …`;
}

/** What a chat is called. */
export function titleOf(chat: ChatInfo): string {
  const title = textIn(chat.title) ?? textIn(chat.metadata.title);
  return title === undefined || title.trim() === '' ? `Chat ${chat.chatId.slice(0, 8)}` : title;
}

/** When a chat was last written to, in words. */
export function whenOf(chat: ChatInfo, now = Date.now()): string {
  const at = chat.updatedUtc;
  const minutes = Math.floor((now - at) / 60_000);
  if (minutes < 1) return 'just now';
  if (minutes < 60) return `${minutes} min ago`;
  if (minutes < 24 * 60) return `${Math.floor(minutes / 60)} h ago`;
  return dayAndMonth.format(at);
}
