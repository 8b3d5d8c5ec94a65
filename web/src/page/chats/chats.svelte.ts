/** The user's chats as the server lists them, synchronized between tabs. */

import type { ApiError, ChatApi, ChatInfo } from '../../client/index.ts';
import { day } from '../text/format.ts';
import { asString } from '../types.ts';
import { texts } from '../language/language.svelte.ts';

export class Chats {
  readonly #api: ChatApi;
  readonly #channel = new BroadcastChannel('toolweave chats');

  list: ChatInfo[] = $state.raw([]);
  problem: ApiError | undefined = $state.raw();

  constructor(api: ChatApi) {
    this.#api = api;
  }

  /** Keep the list up to date until `close`. */
  open(): void {
    this.#channel.addEventListener('message', this.refresh);
    addEventListener('focus', this.refresh);
    this.refresh();
  }

  close(): void {
    removeEventListener('focus', this.refresh);
    this.#channel.close();
  }

  refresh = (): void => {
    void this.#load();
  };

  /** Create a chat whose title is taken from its first message, `text`. */
  async create(text: string): Promise<{ chatId: string } | { problem: ApiError }> {
    const created = await this.#api.createChat({ metadata: { title: titleFor(text) } });
    if (!created.ok) return { problem: created.error };
    this.#announceChange();
    return { chatId: created.value.chatId };
  }

  async remove(chatId: string): Promise<ApiError | undefined> {
    const removed = await this.#api.remove(chatId);
    if (!removed.ok && removed.error.status !== 404) return removed.error;
    this.list = this.list.filter((chat) => chat.chatId !== chatId);
    this.#announceChange();
    return undefined;
  }

  async #load(): Promise<void> {
    const chats = await this.#api.chats();
    if (chats.ok) this.list = chats.value;
    this.problem = chats.ok ? undefined : chats.error;
  }

  #announceChange(): void {
    this.#channel.postMessage('changed');
    this.refresh();
  }
}

const maxTitleLength = 60;

/** Return the first words of `text`. */
export function titleFor(text: string): string {
  const line = text.trim().replaceAll(/\s+/g, ' ');
  if (line.length <= maxTitleLength) return line;
  const cut = line.slice(0, maxTitleLength);
  return `${cut.slice(0, Math.max(cut.lastIndexOf(' '), maxTitleLength / 2)).trimEnd()} …`;
}

/** Return the title of a chat, or a name made from its id. */
export function titleOf(chat: ChatInfo): string {
  const title = asString(chat.title) ?? asString(chat.metadata.title);
  return title === undefined || title.trim() === ''
    ? texts().chats.untitled(chat.chatId.slice(0, 8))
    : title;
}

/** Format the time of a chat's last update, such as `5 min ago`. */
export function whenOf(chat: ChatInfo, now = Date.now()): string {
  const at = chat.updatedUtc;
  const minutes = Math.floor((now - at) / 60_000);
  if (minutes < 1) return texts().chats.now;
  if (minutes < 60) return texts().chats.minutesAgo(minutes);
  if (minutes < 24 * 60) return texts().chats.hoursAgo(Math.floor(minutes / 60));
  return day(at);
}
