/** The chat that is open, in the address: a reload, a bookmark and the back button lead to it. */

/** The chat that the address names; null on the front page. */
export function chatInHash(hash: string): string | null {
  const name = hash.replace(/^#/, '');
  if (name === '') return null;
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

/** The address of a chat. */
export function hashOf(chatId: string | null): string {
  return chatId === null ? '#' : `#${encodeURIComponent(chatId)}`;
}
