/**
 * The events of a chat as they arrive, and the snapshot that they reduce to.
 *
 * ```ts
 * const api = new ChatApi();
 * const reducer = new StreamReducer();
 * for await (const event of api.events(chatId)) {
 *   reducer.push(event);
 *   show(reducer.snapshot(Date.now()));
 * }
 * ```
 *
 * `LiveChat` does the same for front ends. The exports are the API of the npm package.
 */

export {
  type Answer,
  type Answered,
  type ApiError,
  ChatApi,
  type ChatApiOptions,
  type ChatDetails,
  type ChatInfo,
  type Result,
  type MessageReceipt,
  newId,
} from './api.ts';
/** @internal Left out of the npm package. */
export type { Playground } from './api.ts';
export { StreamEventError } from './check.ts';
export type * from './events.ts';
export { parseExact, stringifyExact } from './exact.ts';
export { isKnownEvent } from './fold.ts';
export { type ChatState, LiveChat, type LiveChatOptions } from './live.ts';
export { type ReducerOptions, StreamReducer } from './reducer.ts';
export type { Numbered } from './state.ts';
export { EventStream, type StreamOptions, type StreamStatus } from './stream.ts';
