import type { UIMessage } from 'ai';

/** A message whose metadata is that of toolweave's stream. */
export type Message = UIMessage<{ stopReason?: string }>;

const KEY = 'messages';

/**
 * Return the messages to open the chat with.
 *
 * An answer that was not finished is left out: `resume` streams it again from its beginning.
 */
export function load(id: string): Message[] {
  const messages = JSON.parse(sessionStorage.getItem(`${KEY} ${id}`) ?? '[]') as Message[];
  return messages.filter(({ role, metadata }) => role === 'user' || metadata?.stopReason);
}

/** Keep the messages of a chat for a reload of the page. */
export function save(id: string, messages: Message[]): void {
  sessionStorage.setItem(`${KEY} ${id}`, JSON.stringify(messages));
}
