// The request bodies of the clients.
//
// From standard input: {"ask": a stream in which a call waits for approval, by protocol}. To
// standard output: {"<protocol>": {"<version>": {"<action>": body}}}.

import { json } from "node:stream/consumers";

import * as agUi from "./ag_ui.mjs";
import * as aiSdk from "./ai_sdk.mjs";

const { ask } = await json(process.stdin);

async function ofChat(version) {
  const bodies = {};
  let doing = "";
  const chat = await aiSdk.openChat(version, {
    id: "chat",
    transport: {
      api: "http://recorded/",
      fetch: async (_, { body }) => {
        bodies[doing] = JSON.parse(body);
        return new Response(ask["ai-sdk"]);
      },
    },
  });
  const steps = {
    first: () => chat.sendMessage({ text: "First." }),
    second: () => chat.sendMessage({ text: "Second." }),
    regenerate: () => chat.regenerate(),
    edit: () => chat.sendMessage({ text: "Other.", messageId: chat.messages[0].id }),
    file: () => chat.sendMessage({ files: [{ type: "file", mediaType: "image/png", url: "data:," }] }),
  };
  for (doing of Object.keys(steps)) await steps[doing]();
  return bodies;
}

async function approvalOfChat(version) {
  const bodies = [];
  const chat = await aiSdk.openChat(version, {
    id: "chat",
    transport: {
      api: "http://recorded/",
      fetch: async (_, { body }) => {
        bodies.push(JSON.parse(body));
        return new Response(ask["ai-sdk/6"]);
      },
    },
  });
  await chat.sendMessage({ text: "Pay." });
  await chat.addToolApprovalResponse({ id: "key-1", approved: false, reason: "No." });
  await chat.sendMessage();
  return bodies.at(-1);
}

async function ofAgent(version) {
  const bodies = {};
  let doing = "";
  const agent = await agUi.openAgent(version, {
    url: "http://recorded/",
    threadId: "chat",
    fetch: async (_, { body }) => {
      bodies[doing] = JSON.parse(body);
      return new Response(ask["ag-ui"], { headers: { "content-type": "text/event-stream" } });
    },
  });
  doing = "first";
  agent.addMessage({ id: "m1", role: "user", content: "First." });
  await agUi.run(agent);
  doing = "resume";
  const payload = { approved: false, reason: "No." };
  const resume = [{ interruptId: "key-1", status: "resolved", payload }];
  const seen = await agUi.run(agent, { resume });
  if (seen.error) throw new Error(seen.error);
  return bodies;
}

const posted = { "ai-sdk": {}, "ag-ui": {} };
for (const version of aiSdk.versions) {
  posted["ai-sdk"][version] = await ofChat(version);
  if (version >= 6) posted["ai-sdk"][version].approval = await approvalOfChat(version);
}
for (const version of agUi.versions) posted["ag-ui"][version] = await ofAgent(version);
process.stdout.write(JSON.stringify(posted));
