/**
 * Which component shows which kind of message.
 *
 * An application adds its own, or takes the place of one of ours:
 *
 * ```ts
 * registerMessage('chart', ChartMessage);
 * ```
 *
 * A kind that nobody registered is shown by `UnknownMessage`: nothing that was said goes unseen.
 */

import type { Component } from 'svelte';
import type { SnapshotMessage } from '../types.ts';
import ErrorMessage from './ErrorMessage.svelte';
import ReasoningMessage from './ReasoningMessage.svelte';
import RunMessage from './RunMessage.svelte';
import SceneMessage from './SceneMessage.svelte';
import SelectionMessage from './SelectionMessage.svelte';
import TextMessage from './TextMessage.svelte';
import ToolResultMessage from './ToolResultMessage.svelte';
import ToolsCallMessage from './ToolsCallMessage.svelte';
import UnknownMessage from './UnknownMessage.svelte';
import UsageMessage from './UsageMessage.svelte';

/** A component that shows one message. */
export type MessageComponent = Component<{ message: SnapshotMessage }>;

const components = new Map<string, MessageComponent>([
  ['text', TextMessage],
  ['reasoning', ReasoningMessage],
  ['tools_call', ToolsCallMessage],
  ['tools_aggregate', ToolsCallMessage],
  ['tool_result', ToolResultMessage],
  ['usage', UsageMessage],
  ['error', ErrorMessage],
  ['scene', SceneMessage],
  ['selection', SelectionMessage],
  ['run', RunMessage],
]);

/** Shows messages of `kind` with `component` from now on. */
export function registerMessage(kind: string, component: MessageComponent): void {
  components.set(kind, component);
}

/** The component for `kind`. */
export function componentFor(kind: string): MessageComponent {
  return components.get(kind) ?? UnknownMessage;
}
