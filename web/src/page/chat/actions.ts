/** The actions of a chat that its nested components may call. */

import { getContext, setContext } from 'svelte';

/** A decision on an approval, or the answer to a tool's question. */
export type Decision =
  { approved: boolean; reason?: string } | { result: unknown; isError?: boolean };

/** The actions of a chat. */
export interface ChatActions {
  /** Answer the pending call with `key`; throw an Error with a message for the user if refused. */
  answer(key: string, decision: Decision): Promise<void>;
}

const name = Symbol('chat actions');

/** Provide the actions to all descendant components. */
export function provideActions(actions: ChatActions): void {
  setContext(name, actions);
}

/** Return the actions of the chat that contains the component. */
export function actions(): ChatActions {
  return getContext<ChatActions>(name);
}
