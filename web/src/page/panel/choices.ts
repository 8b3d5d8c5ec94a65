/** Reads selections, and what is needed to draw their scores. */

import { isRecord, numberIn, textIn, type Choice } from '../types.ts';

const most = 50;

/** The selection in an entry of the snapshot, as far as it is one. */
export function choiceIn(entry: Record<string, unknown>): Choice {
  const ranking: Choice['ranking'] = [];
  const written: unknown[] = Array.isArray(entry.ranking) ? entry.ranking : [];
  for (const each of written) {
    if (!isRecord(each)) continue;
    const score = numberIn(each.score);
    const error = textIn(each.error);
    ranking.push({
      tool: textIn(each.tool) ?? 'a tool without a name',
      ...(score === undefined ? {} : { score }),
      ...(error === undefined ? {} : { error }),
    });
    if (ranking.length === most) break;
  }
  const choice: Choice = { ranking, fallback: entry.fallback === true };
  const tool = textIn(entry.tool);
  if (tool !== undefined) choice.tool = tool;
  for (const name of ['score', 'calls', 'duration'] as const) {
    const number = numberIn(entry[name]);
    if (number !== undefined) choice[name] = number;
  }
  return choice;
}

/** The end of the scale of `choice`: scores are 0 to 1 or 0 to 100, whoever gave them. */
export function scaleOf(choice: Choice): number {
  const highest = Math.max(0, ...choice.ranking.map((each) => each.score ?? 0));
  return highest <= 1 ? 1 : highest <= 100 ? 100 : highest;
}

/** A score with as many digits as its scale is worth. */
export function scoreText(score: number, scale: number): string {
  return scale === 1 ? score.toFixed(2) : String(Math.round(score * 10) / 10);
}
