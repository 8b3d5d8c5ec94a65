/**
 * Generate `src/client/events.ts` from the JSON Schemas of the wire, which the Rust core generates
 * from its own types. With `--check`, only report whether the file is current.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { isDeepStrictEqual } from 'node:util';
import { type JSONSchema, compile } from 'json-schema-to-typescript';

const SCHEMAS = ['stream-events', 'snapshot'];
const OUTPUT = new URL('../src/client/events.ts', import.meta.url);
const BANNER = `/**
 * Stream events and snapshots.
 *
 * Generated from ${SCHEMAS.map((name) => `schemas/${name}.json`).join(' and ')} by "npm run generate".
 */
`;

type Words = Record<string, unknown>;

/** Merge both schemas: they have definitions in common. */
async function schema(): Promise<JSONSchema> {
  const roots: string[] = [];
  const definitions: Words = {};
  for (const name of SCHEMAS) {
    const text = await readFile(new URL(`../../schemas/${name}.json`, import.meta.url), 'utf8');
    const { $defs, ...root } = JSON.parse(text) as Words;
    delete root.$schema;
    const title = String(root.title);
    roots.push(title);
    for (const [key, value] of Object.entries({ ...($defs as Words), [title]: root })) {
      const known = definitions[key];
      definitions[key] = known === undefined ? value : agreed(key, known as Words, value as Words);
    }
  }
  const anyOf = roots.map((title) => ({ $ref: `#/$defs/${title}` }));
  const description = 'Any value that the schemas describe.';
  return translated({ title: 'Wire', description, anyOf, definitions }) as JSONSchema;
}

/** Merge the definitions of a type; a field that one of them does not require is optional. */
function agreed(name: string, one: Words, other: Words): Words {
  const { required: needed = [], ...words } = one as Words & { required?: string[] };
  const { required: alsoNeeded = [], ...otherWords } = other as Words & { required?: string[] };
  if (!isDeepStrictEqual(words, otherWords)) {
    throw new Error(`the schemas do not agree on what ${name} is`);
  }
  return { ...words, required: needed.filter((field) => alsoNeeded.includes(field)) };
}

/** Translate a schema to the draft that the compiler supports. */
function translated(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(translated);
  if (typeof node !== 'object' || node === null) return node;
  const { prefixItems, $ref, ...rest } = node as Words;
  const words: Words = {};
  for (const [key, value] of Object.entries(rest)) words[key] = translated(value);
  if (prefixItems !== undefined) words.items = translated(prefixItems);
  if (typeof $ref === 'string') {
    // Beside a `$ref` that draft ignores everything, descriptions too.
    words.allOf = [{ $ref: $ref.replace('#/$defs/', '#/definitions/') }];
  }
  if (Object.keys(words).join() === 'description') words.tsType = 'unknown';
  return words;
}

const types = await compile(await schema(), 'Wire', {
  additionalProperties: false,
  bannerComment: BANNER,
  unreachableDefinitions: true,
  style: { singleQuote: true, printWidth: 100 },
});

if (process.argv.includes('--check')) {
  const current = await readFile(OUTPUT, 'utf8').catch(() => '');
  if (current !== types) {
    console.error('src/client/events.ts is not what the schemas say; run "npm run generate".');
    process.exitCode = 1;
  }
} else {
  await writeFile(OUTPUT, types);
}
