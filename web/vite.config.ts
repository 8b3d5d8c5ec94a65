import { fileURLToPath } from 'node:url';
import { svelte } from '@sveltejs/vite-plugin-svelte';
import { svelteTesting } from '@testing-library/svelte/vite';
import { defineConfig } from 'vitest/config';

const page = fileURLToPath(new URL('../python/toolweave/web/page', import.meta.url));

export default defineConfig({
  // Relative, so that the page works behind a proxy that mounts it anywhere.
  base: './',
  plugins: [svelte()],
  build: {
    outDir: page,
    emptyOutDir: true,
    target: 'es2023',
    sourcemap: false,
    // What is checked in must be the same on every machine, and the page's
    // content security policy allows neither inline scripts nor data: URLs.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    // What the bundle carries of others goes with its licences.
    license: { fileName: 'licenses.md' },
  },
  server: {
    // `npm run dev` shows the page from source; a `toolweave demo` answers it.
    proxy: {
      '^/(chats|healthz|playground\\.json)':
        process.env.TOOLWEAVE_SERVER ?? 'http://127.0.0.1:8000',
    },
  },
  test: {
    // Long enough for machines that do much else; nothing waits for time to pass.
    testTimeout: 60_000,
    setupFiles: ['tests/setup.ts'],
    projects: [
      {
        extends: true,
        test: { name: 'client', environment: 'node', include: ['tests/client/**/*.test.ts'] },
      },
      {
        extends: true,
        plugins: [svelteTesting()],
        test: {
          name: 'page',
          environment: 'jsdom',
          // One jsdom for all files, each in a context of its own.
          pool: 'vmThreads',
          include: ['tests/page/**/*.test.ts'],
        },
      },
    ],
  },
});
