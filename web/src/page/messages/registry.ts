/**
 * The registry of components that show messages, by kind.
 *
 * An application can add a component or replace a built-in one:
 *
 * ```ts
 * registerMessage('chart', ChartMessage);
 * ```
 *
 * `UnknownMessage` shows messages of unregistered kinds, so that no message is hidden.
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

/** Register `component` for messages of `kind`, in place of any earlier one. */
export function registerMessage(kind: string, component: MessageComponent): void {
  components.set(kind, component);
}

/** Return the component for `kind`. */
export function componentFor(kind: string): MessageComponent {
  return components.get(kind) ?? UnknownMessage;
}
