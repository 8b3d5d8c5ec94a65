import { createRoot } from 'react-dom/client';
import { Conversation } from './Conversation.tsx';

// The first message creates the chat, so any unguessable id will do.
location.hash ||= Array.from(crypto.getRandomValues(new Uint32Array(4)), (n) =>
  n.toString(36),
).join('');
createRoot(document.getElementById('root')!).render(<Conversation id={location.hash.slice(1)} />);
