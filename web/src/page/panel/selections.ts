/** Selections of tools, and the scales of their scores. */

import { decimal } from '../text/format.ts';
import { isRecord, asNumber, asString, type ToolSelection } from '../types.ts';
import { texts } from '../language/language.svelte.ts';

const maxRanked = 50;

/** Return the selection in an entry of the snapshot. Fields of the wrong type are left out. */
export function selectionIn(entry: Record<string, unknown>): ToolSelection {
  const ranking: ToolSelection['ranking'] = [];
  const entries: unknown[] = Array.isArray(entry.ranking) ? entry.ranking : [];
  for (const each of entries) {
    if (!isRecord(each)) continue;
    const score = asNumber(each.score);
    const error = asString(each.error);
    ranking.push({
      tool: asString(each.tool) ?? texts().selection.unnamed,
      ...(score === undefined ? {} : { score }),
      ...(error === undefined ? {} : { error }),
    });
    if (ranking.length === maxRanked) break;
  }
  const selection: ToolSelection = { ranking, fallback: entry.fallback === true };
  const tool = asString(entry.tool);
  if (tool !== undefined) selection.tool = tool;
  for (const name of ['score', 'calls', 'duration'] as const) {
    const number = asNumber(entry[name]);
    if (number !== undefined) selection[name] = number;
  }
  return selection;
}

/** Return the maximum of the scale: 1 or 100, depending on the scorer, or more if a score is higher. */
export function scaleOf(selection: ToolSelection): number {
  const highest = Math.max(0, ...selection.ranking.map((each) => each.score ?? 0));
  return highest <= 1 ? 1 : highest <= 100 ? 100 : highest;
}

/** Format a score: two decimals on a scale to 1, at most one on any other. */
export function scoreText(score: number, scale: number): string {
  return scale === 1 ? decimal(score, 2) : decimal(score, 0, 1);
}
