import { defineConfig } from 'vite';

export default defineConfig({
  // Relative, so that the app works wherever a server mounts it.
  base: './',
  // The policy of the server that serves the built files allows no data: URLs for scripts and styles.
  build: { assetsInlineLimit: 0, target: 'es2023' },
  server: {
    // `npm run client` and `npm run use-chat` serve the app from source; `server.py` answers it.
    proxy: { '^/(chats|ai-sdk)': 'http://127.0.0.1:8000' },
  },
});
