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
 */

export {
  type Answer,
  type Answered,
  type ApiError,
  ChatApi,
  type ChatApiOptions,
  type ChatDetails,
  type ChatInfo,
  type Playground,
  type Result,
  type MessageReceipt,
  newId,
} from './api.ts';
export { StreamEventError } from './check.ts';
export type * from './events.ts';
export { parseExact, stringifyExact } from './exact.ts';
export { type ReducerOptions, StreamReducer } from './reducer.ts';
export { EventStream, type StreamOptions, type StreamStatus } from './stream.ts';
