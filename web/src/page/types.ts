/** Types of the page, and helpers that read fields whose types the client leaves open. */

import type { CallState, Snapshot, SnapshotCall, SnapshotMessage } from '../client/index.ts';

export type { CallState, Snapshot, SnapshotCall, SnapshotMessage };

/** One repair of a call. */
export type Repair = NonNullable<SnapshotCall['repairs']>[number];

/** A selection of a tool, with the scores of its candidates. */
export interface ToolSelection {
  tool?: string;
  score?: number;
  fallback?: boolean;
  calls?: number;
  duration?: number;
  ranking: { tool: string; score?: number; error?: string }[];
}

/** Return true if `value` is an object and not an array. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Return `value` if it is a string, otherwise undefined. */
export function asString(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** Return `value` if it is a finite number, otherwise undefined. */
export function asNumber(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}

/** Return the own property `key` of `table`; inherited properties do not count. */
export function ownValue<T>(table: Record<string, T>, key: string): T | undefined {
  return Object.hasOwn(table, key) ? table[key] : undefined;
}
