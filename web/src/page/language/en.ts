/** The texts of the page in English. The other languages have the same keys. */

import type { CallState } from '../types.ts';

const plural = (count: string, number: number, one: string, many = `${one}s`) =>
  `${count} ${number === 1 ? one : many}`;

export const en = {
  language: {
    /** The name of the language in itself. */
    name: 'English',
    label: 'Language',
    /** For dates and times of day. */
    locale: 'en-GB',
  },

  page: {
    headline: 'Ask, and watch the tools at work',
    intro:
      'Watch each tool call as it is written, run and answered. Results appear as soon as they are ready, in any order.',
    placeholder: 'Write a message',
    skip: 'Skip to the message box',
    details: 'Run details',
    panel: 'Timeline, selection, raw text',
    theme: (theme: string) => `Theme: ${theme}`,
    themes: { system: 'system', light: 'light', dark: 'dark' },
    close: 'Close',
  },

  chats: {
    title: 'Chats',
    create: 'New chat',
    none: 'No chats yet.',
    export: 'Export',
    exportOf: (title: string) => `Export ${title}`,
    delete: 'Delete',
    deleteOf: (title: string) => `Delete ${title}`,
    confirm: 'Delete this chat?',
    consequence: (title: string) => `“${title}” and all its messages will be deleted permanently.`,
    cancel: 'Cancel',
    untitled: (id: string) => `Chat ${id}`,
    now: 'just now',
    minutesAgo: (minutes: number) => `${minutes} min ago`,
    hoursAgo: (hours: number) => `${hours} h ago`,
    notFound: 'Chat not found',
    notFoundReason: 'It was deleted, or it belongs to someone else.',
  },

  chat: {
    conversation: 'Conversation',
    you: 'You',
    assistant: 'Assistant',
    suggestions: 'Suggestions',
    write: 'Write a message',
    message: 'Message',
    send: 'Send',
    sendKey: 'Send (Enter)',
    stop: 'Stop',
    stopKey: 'Stop (Escape)',
    stopping: 'Stopping',
    continue: 'Continue',
    /** Effects of keys, after their names: Enter; Shift and Enter; Escape. */
    sends: 'sends',
    addsLine: 'adds a line',
    stops: 'stops',
    enter: 'Enter',
    shift: 'Shift',
    escape: 'Esc',
    notSent: (reason: string) => `Not sent. ${reason}`,
    sendAgain: 'Send again',
    working: 'Working',
    latest: 'Jump to latest',
  },

  connection: {
    label: 'Connection:',
    states: {
      connecting: 'connecting',
      live: 'live',
      waiting: 'reconnecting',
      ended: 'idle',
      failed: 'not connected',
    },
    tryNow: 'Try now',
  },

  /** Announcements for screen readers. */
  announced: {
    error: (text: string) => `Error: ${text}`,
    call: 'A call',
    working: 'The assistant is working.',
    finished: 'Reply finished.',
    endedEarly: 'The reply ended early.',
    cut: 'and more.',
    moreChanges: (count: number) => `${count} more changes.`,
  },

  messages: {
    errorCode: 'Error',
    noDetails: 'Something went wrong; no details are available.',
    thoughts: 'Thoughts',
    thinking: 'Thinking',
    /** Before the id of a call, and then `unmatched`. */
    result: 'Result of',
    resultOf: (call: string) => `Result of ${call}`,
    unmatched: 'a call that is not in this chat',
    unknownCall: 'an unknown call',
    unknownKind: 'Message of unknown kind',
    answered: (answered: string, all: string, number: number) =>
      `${answered} of ${plural(all, number, 'call')} answered`,
    tokensIn: (count: string) => `${count} tokens in`,
    cached: (count: string) => `${count} cached`,
    tokensOut: (count: string) => `${count} out`,
    cost: (amount: string) => `cost ${amount}`,
    ended: (reason: string) => `Ended: ${reason}.`,
    /** Sentences for runs that did not complete, by stop reason. */
    ends: {
      cancelled: 'Stopped.',
      interrupted: 'Interrupted: the server went away during this reply.',
      deferred: 'Waiting for deferred results.',
      awaiting_client: 'Waiting for the client.',
      max_iterations: 'Stopped: the model reached the maximum number of steps.',
      budget: 'Stopped: the budget is exhausted.',
      rate_limited: 'Stopped: the rate limit was reached.',
      error: 'Ended with an error.',
    } as Record<string, string>,
  },

  calls: {
    states: {
      writing: 'writing',
      pending: 'pending',
      awaiting_approval: 'awaiting approval',
      approved: 'allowed',
      awaiting_answer: 'awaiting an answer',
      deferred: 'deferred',
      running: 'running',
      success: 'success',
      error: 'error',
      denied: 'denied',
      interrupted: 'interrupted',
      timeout: 'timeout',
    } satisfies Record<CallState, string> as Record<CallState, string>,
    progressState: 'progress',
    cannotRun: (reason: string) => `Cannot run: ${reason}.`,
    arguments: 'Arguments',
    argumentsLabel: 'arguments',
    showRepaired: 'Show repaired',
    showWritten: 'Show as written',
    asks: 'The tool asks for an answer.',
    deferred: 'The result will arrive later, possibly after this conversation is closed.',
    enterResult: 'Enter the result manually',
    resultOfThis: 'The result of this call',
    timedOut: 'No result yet. A late result is still accepted.',
    progress: 'Progress',
    earlier: 'earlier',
    error: 'Error',
    result: 'Result',
    resultLabel: 'result',
    allowed: 'Allowed',
    denied: 'Denied',
    decidedBy: (decision: string, person: string) => `${decision} by ${person}`,
    theUser: 'the user',
    recovered: (dialect: string) => `recovered from text · ${dialect}`,
    mayRun: (name: string) => `May ${name} run with these arguments?`,
    thisCall: 'this call',
    reason: 'Reason (optional)',
    allow: 'Allow',
    deny: 'Deny',
    repaired: (count: string, number: number) => `repaired: ${plural(count, number, 'change')}`,
    wholeCall: 'the whole call',
    nothing: 'nothing',
    from: 'from',
    to: 'to',
    andMore: (count: number) => `and ${count} more`,
  },

  /** The form in which a user answers a tool. */
  question: {
    answer: 'Answer',
    send: 'Answer',
    asJson: 'As JSON',
    jsonLabel: 'Answer as JSON',
    optional: '(optional)',
    choose: 'choose',
    isRequired: (label: string) => `${label} is required.`,
    mustBeNumber: (label: string) => `${label} must be a number.`,
    mustBeWhole: (label: string) => `${label} must be a whole number.`,
    mustBeAtLeast: (label: string, least: number) => `${label} must be ${least} or more.`,
    mustBeAtMost: (label: string, most: number) => `${label} must be ${most} or less.`,
    notJson: 'This is not valid JSON. A string needs quotation marks: "yes".',
  },

  panel: {
    timeline: 'Timeline',
    selection: 'Selection',
    raw: 'Raw text',
    waitingFor: (events: string) => `Waiting for events ${events}.`,
    range: (from: number, to: number) => `${from} to ${to}`,
    problems: (count: string, number: number) =>
      `${plural(count, number, 'problem')} in the stream`,
    event: (number: number) => `event ${number}:`,
    reply: (number: number) => `Reply ${number}`,
    showEarlier: (count: number) => `Show ${count} earlier`,
  },

  timeline: {
    none: 'Runs appear here, with their calls on a timeline, their scenes and their cost.',
    run: (number: number) => `Run ${number}`,
    running: 'running',
    at: 'at',
    took: 'took',
    toolsTook: 'tools took',
    tokens: 'tokens',
    tokenCounts: (input: string, output: string) => `${input} in, ${output} out`,
    cost: 'cost',
    calls: (count: string, number: number) => plural(count, number, 'call'),
    steps: 'Steps',
    lane: (state: string, from: string) => `${state}, from ${from} on`,
    laneTook: (state: string, from: string, took: string) =>
      `${state}, from ${from} on, took ${took}`,
    /** Steps of a scene run by their status. */
    stepLabels: {
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
    } as Record<string, string>,
  },

  selection: {
    none: 'When tools are selected for a request, their scores appear here.',
    noTool: 'No tool picked',
    picked: 'Picked',
    pickedMark: '(picked)',
    of: (count: number) => `of ${count}`,
    asFallback: ', as a fallback',
    fallback: 'fallback',
    in: (time: string) => `, in ${time}`,
    scored: (count: number) => `${count} scored`,
    asked: (count: number) => `, ${count} asked`,
    noScore: 'no score',
    unnamed: 'unnamed tool',
  },

  text: {
    empty: 'empty text',
    showLess: 'Show less',
    showAll: (size: string) => `Show all (${size})`,
    lines: (count: string, number: number) => plural(count, number, 'line'),
    bytes: (count: string, number: number) => plural(count, number, 'byte'),
    previous: 'Previous',
    next: 'Next',
    part: (part: string, all: string) => `part ${part} of ${all}`,
    copy: 'Copy',
    copied: 'Copied',
    save: 'Save',
  },

  /** Codes of the protocol, where they read better than with spaces for their underscores. */
  codes: {} as Record<string, string>,
};

/** The texts of the page in one language. */
export type Texts = typeof en;
