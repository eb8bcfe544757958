import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

export default defineConfig({
  plugins: [react()],
  // The server puts its own in this word's place, another one with each page.
  html: { cspNonce: "__CSP_NONCE__" },
  build: { target: "es2023", assetsInlineLimit: 0, reportCompressedSize: false, chunkSizeWarningLimit: 900 },
  server: {
    // `vite` for development, beside a server that runs. A changed Host would look like a foreign page to it.
    proxy: Object.fromEntries(
      ["/trpc", "/api", "/auth"].map((path) => [
        path,
        { target: process.env.BERTH_URL ?? "http://127.0.0.1:8000", ws: true, changeOrigin: false },
      ]),
    ),
  },
});
