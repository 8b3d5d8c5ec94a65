/** Fail if `python/toolweave/web/page` differs from the output of `npm run build`. */
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';

const page = fileURLToPath(new URL('../../python/toolweave/web/page', import.meta.url));

async function files(folder: string): Promise<Map<string, Buffer>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries.filter((e) => e.isFile()).map((e) => join(e.parentPath, e.name));
  return new Map(
    await Promise.all(
      paths.map(async (path) => [path.slice(folder.length + 1), await readFile(path)] as const),
    ),
  );
}

const fresh = await mkdtemp(join(tmpdir(), 'toolweave-page-'));
try {
  await build({ logLevel: 'warn', build: { outDir: fresh } });
  const [built, checkedIn] = await Promise.all([files(fresh), files(page)]);
  const stale = [...new Set([...built.keys(), ...checkedIn.keys()])]
    .filter((name) => !built.get(name)?.equals(checkedIn.get(name) ?? Buffer.alloc(0)))
    .sort();
  if (stale.length > 0) {
    console.error(`The built page is not current (${stale.join(', ')}); run "npm run build".`);
    process.exitCode = 1;
  }
} finally {
  await rm(fresh, { recursive: true });
}
