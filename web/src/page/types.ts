/** What the page shows, by the types of the client, and how it reads what those leave open. */

import type { CallState, Snapshot, SnapshotCall, SnapshotMessage } from '../client/index.ts';

export type { CallState, Snapshot, SnapshotCall, SnapshotMessage };

/** One change that made a call acceptable. */
export type Repair = NonNullable<SnapshotCall['repairs']>[number];

/** How a tool was picked: what each was worth. */
export interface Choice {
  tool?: string;
  score?: number;
  fallback?: boolean;
  calls?: number;
  duration?: number;
  ranking: { tool: string; score?: number; error?: string }[];
}

/** Whether `value` is an object with named fields. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The text in `value`, where it is one. */
export function textIn(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** The number in `value`, where it is one. */
export function numberIn(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}

/** What `table` holds under `key`; what every object inherits does not count. */
export function ownOf<T>(table: Record<string, T>, key: string): T | undefined {
  return Object.hasOwn(table, key) ? table[key] : undefined;
}
