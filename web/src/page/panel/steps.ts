/** The steps of a run of scenes in words. */

import { ownOf } from '../types.ts';

const labels: Record<string, string> = {
  Initializing: 'Run begins',
  LoadingCache: 'Conversation loaded',
  ExecutingMainActors: 'Main actors speak',
  Summarizing: 'History summed up',
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
  Completed: 'Run over',
};

/** What a status means, for people. */
export function stepLabel(status: string): string {
  return ownOf(labels, status) ?? status;
}
