/** Labels for the steps of a scene run. */

import { ownValue } from '../types.ts';

const labels: Record<string, string> = {
  Initializing: 'Run started',
  LoadingCache: 'Conversation loaded',
  ExecutingMainActors: 'Main actors run',
  Summarizing: 'History summarized',
  Planning: 'Plan',
  DirectorDecision: 'Director decides',
  ExecutingScene: 'Scene',
  FunctionRequest: 'Call',
  FunctionCompleted: 'Result',
  ToolSkipped: 'Call skipped',
  Streaming: 'Text',
  Running: 'Reply',
  AwaitingClient: 'Waiting for the client',
  GeneratingFinalResponse: 'Final answer',
  SavingCache: 'Conversation saved',
  Error: 'Error',
  Completed: 'Run completed',
};

/** Return the label of a status; a status without a label is returned unchanged. */
export function stepLabel(status: string): string {
  return ownValue(labels, status) ?? status;
}
