// The AG-UI client that CopilotKit and others build on.

const packages = { "0.0.59": "@ag-ui/client-0.0.59", "1.0.0": "@ag-ui/client-1.0.0" };

export const versions = Object.keys(packages);

/** Create an agent of a version, with options of its `HttpAgent`. */
export async function openAgent(version, options) {
  const { HttpAgent } = await import(packages[version]);
  return new HttpAgent(options);
}

/** Run the agent; the result includes errors and warnings. */
export async function run(agent, parameters = {}) {
  const seen = { error: null, warnings: [], custom: [], steps: [], result: null };
  const { warn, error } = console;
  console.warn = (...words) => seen.warnings.push(words.map(String).join(" "));
  console.error = () => {};
  try {
    await agent.runAgent(parameters, {
      onCustomEvent: ({ event }) => void seen.custom.push({ name: event.name, value: event.value }),
      onStepStartedEvent: ({ event }) => void seen.steps.push(`+${event.stepName}`),
      onStepFinishedEvent: ({ event }) => void seen.steps.push(`-${event.stepName}`),
      onRunErrorEvent: ({ event }) => void (seen.error = event.message),
      onRunFinishedEvent: ({ event }) => void (seen.result = event.result ?? null),
    });
  } catch (reason) {
    seen.error ??= String(reason?.message ?? reason);
  } finally {
    Object.assign(console, { warn, error });
  }
  const interrupts = structuredClone(agent.pendingInterrupts);
  return { ...seen, interrupts, messages: structuredClone(agent.messages) };
}

/** Read a recorded stream as the reply to the last of these messages. */
export async function readRecorded(version, body, messages) {
  const agent = await openAgent(version, {
    url: "http://recorded/",
    threadId: "recorded",
    initialMessages: messages,
    fetch: async () => new Response(body, { headers: { "content-type": "text/event-stream" } }),
  });
  return await run(agent);
}
