import { useState } from 'react';
import { type Answer, type LiveChat, type SnapshotCall, stringifyExact } from '@toolweave/client';

/** A call while it is written, decided on, run and finished. */
export function Call({ chat, call }: { chat: LiveChat; call: SnapshotCall }) {
  const { name, state, arguments: args, argumentsText, progress, result } = call;
  return (
    <article data-state={state}>
      <code>
        {name} {args ? stringifyExact(args) : argumentsText}
      </code>
      {state === 'awaiting_approval' && <Approval chat={chat} call={call} />}
      {result === undefined ? progress.at(-1) : <pre>{result}</pre>}
    </article>
  );
}

function Approval({ chat, call: { key, reason } }: { chat: LiveChat; call: SnapshotCall }) {
  const [problem, setProblem] = useState('');

  async function decide(answer: Answer) {
    const taken = await chat.answer(key!, answer);
    if (!taken.ok) setProblem(taken.error.message);
  }

  return (
    <p>
      {reason}
      <button onClick={() => void decide({ approved: true })}>Allow</button>
      <button onClick={() => void decide({ approved: false, reason: 'The user said no.' })}>
        Deny
      </button>
      {problem && <span role="alert">{problem}</span>}
    </p>
  );
}
