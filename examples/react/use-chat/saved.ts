import type { UIMessage } from 'ai';

/** A message whose metadata is that of toolweave's stream. */
export type Message = UIMessage<{ stopReason?: string }>;

const KEY = 'messages';

/** Return the messages to open the chat with; the stream of an active run replaces its answer. */
export function load(id: string): Message[] {
  return JSON.parse(sessionStorage.getItem(`${KEY} ${id}`) ?? '[]') as Message[];
}

/** Keep the messages of a chat for a reload of the page. */
export function save(id: string, messages: Message[]): void {
  sessionStorage.setItem(`${KEY} ${id}`, JSON.stringify(messages));
}
