/** What a component deep in a chat may do with it. */

import { getContext, setContext } from 'svelte';

/** What a person decided, or what a tool asked for. */
export type Decision =
  { approved: boolean; reason?: string } | { result: unknown; isError?: boolean };

export interface ChatActions {
  /** Resolves what waits under `key`; throws an Error with a sentence where that is refused. */
  answer(key: string, decision: Decision): Promise<void>;
}

const name = Symbol('chat actions');

/** Provides the actions to all components below. */
export function provideActions(actions: ChatActions): void {
  setContext(name, actions);
}

/** The actions of the chat that the component is part of. */
export function actions(): ChatActions {
  return getContext<ChatActions>(name);
}
