import { useChat } from '@ai-sdk/react';
import { DefaultChatTransport, type DynamicToolUIPart } from 'ai';
import { type FormEvent, useEffect, useState } from 'react';
import { load, type Message, save } from './saved.ts';

const transport = new DefaultChatTransport<Message>({
  api: './ai-sdk/chat',
  headers: { 'x-ai-sdk-version': '7' },
  // The server has the history, so the last message is enough.
  prepareSendMessagesRequest: ({ id, messages, trigger, messageId }) => ({
    body: { id, messages: messages.slice(-1), trigger, messageId },
  }),
});

/** A chat: its messages, its status, and the form for the next message. */
export function Conversation({ id }: { id: string }) {
  const [initial] = useState(() => load(id));
  const chat = useChat<Message>({ id, messages: initial, transport, resume: true });
  const { messages, sendMessage, status, error } = chat;
  const [text, setText] = useState('');
  const isBusy = status === 'submitted' || status === 'streaming';

  useEffect(() => save(id, messages), [id, messages]);

  function submit(event: FormEvent) {
    event.preventDefault();
    void sendMessage({ text });
    setText('');
  }

  // The client's own `stop` only closes the connection. A message has the id of its run.
  async function stop() {
    await post(`./chats/${id}/runs/${messages.at(-1)!.id}/stop`, {});
  }

  return (
    <main>
      <div role="log">
        {messages.map((message) => (
          <Parts key={message.id} id={id} message={message} />
        ))}
      </div>
      <p role="status">{status}</p>
      {error && <p role="alert">{error.message}</p>}
      <form onSubmit={submit}>
        <input
          aria-label="Message"
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
        <button disabled={isBusy || text === ''}>Send</button>
        <button type="button" disabled={status !== 'streaming'} onClick={() => void stop()}>
          Stop
        </button>
      </form>
    </main>
  );
}

function Parts({ id, message }: { id: string; message: Message }) {
  return message.parts.map((part, index) => {
    switch (part.type) {
      case 'text':
        return (
          <p key={index} data-role={message.role}>
            {part.text}
          </p>
        );
      case 'dynamic-tool':
        return <Call key={part.toolCallId} id={id} part={part} />;
      default:
        return null; // steps, and data parts
    }
  });
}

function Call({ id, part }: { id: string; part: DynamicToolUIPart }) {
  const { toolName, state, input } = part;
  return (
    <article data-state={state}>
      <code>
        {toolName} {JSON.stringify(input)}
      </code>
      {state === 'approval-requested' && (
        <p>
          <button onClick={() => void decide(id, part.approval.id, true)}>Allow</button>
          <button onClick={() => void decide(id, part.approval.id, false)}>Deny</button>
        </p>
      )}
      {state === 'output-available' && <pre>{String(part.output)}</pre>}
      {state === 'output-error' && <pre>{part.errorText}</pre>}
    </article>
  );
}

// The run waits for this request; its stream then continues with the outcome.
async function decide(id: string, key: string, approved: boolean) {
  await post(`./chats/${id}/answers/${key}`, { approved });
}

async function post(path: string, body: object) {
  const headers = { 'content-type': 'application/json' };
  await fetch(path, { method: 'POST', headers, body: JSON.stringify(body) });
}
