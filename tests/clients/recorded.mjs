// Reads recorded streams with every version of their client.
//
// From standard input: {"<name>": {"protocol": "ai-sdk" | "ag-ui", "body": "...", "messages": []}}.
// To standard output: {"<name>": {"<version>": the state of the client after it}}.

import { text } from "node:stream/consumers";

import * as agUi from "./ag_ui.mjs";
import * as aiSdk from "./ai_sdk.mjs";

const protocols = { "ai-sdk": aiSdk, "ag-ui": agUi };
const streams = JSON.parse(await text(process.stdin));
const read = {};
for (const [name, { protocol, body, messages, versions }] of Object.entries(streams)) {
  const client = protocols[protocol];
  read[name] = {};
  for (const version of versions ?? client.versions) {
    read[name][version] = await client.readRecorded(version, body, messages);
  }
}
process.stdout.write(JSON.stringify(read));
