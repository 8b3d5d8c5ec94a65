import { createHash } from 'node:crypto';
import { vitePreprocess } from '@sveltejs/vite-plugin-svelte';

/** @type {import('@sveltejs/vite-plugin-svelte').SvelteConfig} */
export default {
  preprocess: vitePreprocess(),
  compilerOptions: {
    runes: true,
    // From the styles, not from where the file lies: the build is the same everywhere.
    cssHash: ({ css }) => `s-${createHash('sha256').update(css).digest('hex').slice(0, 8)}`,
  },
};
