/** The open chat in the URL's fragment, for reloads, bookmarks and the back button. */

/** Return the id of the chat in a fragment; null on the front page. */
export function chatIdFromHash(hash: string): string | null {
  const name = hash.replace(/^#/, '');
  if (name === '') return null;
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

/** Return the fragment for a chat, or for the front page. */
export function hashOf(chatId: string | null): string {
  return chatId === null ? '#' : `#${encodeURIComponent(chatId)}`;
}
