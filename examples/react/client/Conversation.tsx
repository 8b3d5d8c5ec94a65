import { type FormEvent, useState, useSyncExternalStore } from 'react';
import type { LiveChat, SnapshotMessage } from '@toolweave/client';
import { Call } from './Call.tsx';

/** A chat: its messages, the status of the connection, and the form for the next message. */
export function Conversation({ chat }: { chat: LiveChat }) {
  const { snapshot, status, activeRun } = useSyncExternalStore(chat.subscribe, chat.getState);
  return (
    <main>
      <div role="log">
        {snapshot.messages.map((message) => (
          <Message key={message.messageId} chat={chat} message={message} />
        ))}
      </div>
      <p role="status">{status.state === 'live' && activeRun ? 'answering' : status.state}</p>
      <Composer chat={chat} isBusy={activeRun !== undefined} />
    </main>
  );
}

function Message({ chat, message }: { chat: LiveChat; message: SnapshotMessage }) {
  switch (message.kind) {
    case 'text':
      return <p data-role={message.role}>{message.text}</p>;
    case 'tools_call':
    case 'tools_aggregate':
      return message.toolCalls?.map((call) => (
        <Call key={call.toolCallId} chat={chat} call={call} />
      ));
    case 'error':
      return <p role="alert">{message.message}</p>;
    default:
      return null; // token counts, reasoning and kinds of later versions
  }
}

function Composer({ chat, isBusy }: { chat: LiveChat; isBusy: boolean }) {
  const [text, setText] = useState('');
  const [problem, setProblem] = useState('');

  async function submit(event: FormEvent) {
    event.preventDefault();
    const sent = await chat.send(text);
    setProblem(sent.ok ? '' : sent.error.message);
    if (sent.ok) setText('');
  }

  return (
    <form onSubmit={submit}>
      <input aria-label="Message" value={text} onChange={(event) => setText(event.target.value)} />
      <button disabled={isBusy || text === ''}>Send</button>
      <button type="button" disabled={!isBusy} onClick={() => void chat.stop()}>
        Stop
      </button>
      {problem && <p role="alert">{problem}</p>}
    </form>
  );
}
