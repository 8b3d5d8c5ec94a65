/** Labels for the steps of a scene run. */

import { ownValue } from '../types.ts';
import { texts } from '../language/language.svelte.ts';

/** Return the label of a status; a status without a label is returned unchanged. */
export function stepLabel(status: string): string {
  return ownValue(texts().timeline.stepLabels, status) ?? status;
}
