import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { ChatApi, LiveChat } from '@toolweave/client';
import { Conversation } from './Conversation.tsx';

const api = new ChatApi();

/** Open the chat whose id is in the address, so that a reload shows the same one, or a new chat. */
async function openChat(): Promise<LiveChat> {
  if (location.hash === '') {
    const created = await api.createChat();
    if (!created.ok) throw new Error(created.error.message);
    location.hash = created.value.chatId;
  }
  return new LiveChat(api, location.hash.slice(1));
}

const chat = await openChat();
createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <Conversation chat={chat} />
  </StrictMode>,
);
