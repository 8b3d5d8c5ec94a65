// The client of OpenAI: its runner of tools, and a loop over responses.

import OpenAI from "openai";
import { KEY, MODEL, openTask, PARAMETERS, QUESTION } from "./task.mjs";

const open = (baseURL) => new OpenAI({ baseURL, apiKey: KEY, maxRetries: 0 });

async function chat(url, stream) {
  const { calls, tools } = openTask();
  const runner = open(url).chat.completions.runTools({
    model: MODEL,
    stream,
    messages: [{ role: "user", content: QUESTION }],
    tools: tools.map(({ name, description, run }) => ({
      type: "function",
      function: { name, description, parameters: PARAMETERS, parse: JSON.parse, function: run },
    })),
  });
  return { text: await runner.finalContent(), calls };
}

async function responses(url, stream) {
  const { calls, tools } = openTask();
  const client = open(url);
  const input = [{ role: "user", content: QUESTION }];
  for (let turn = 0; turn < 5; turn += 1) {
    const request = {
      model: MODEL,
      input,
      tools: tools.map(({ name, description }) => ({
        type: "function",
        name,
        description,
        parameters: PARAMETERS,
        strict: true,
      })),
    };
    const response = stream
      ? await client.responses.stream(request).finalResponse()
      : await client.responses.create(request);
    const found = response.output.filter((item) => item.type === "function_call");
    if (found.length === 0) return { text: response.output_text, calls };
    input.push(...response.output);
    for (const call of found) {
      const output = tools.find(({ name }) => name === call.name).run(JSON.parse(call.arguments));
      input.push({ type: "function_call_output", call_id: call.call_id, output });
    }
  }
  throw new Error("the loop did not end");
}

export const clients = { "openai chat": chat, "openai responses": responses };
