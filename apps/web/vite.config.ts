import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

export default defineConfig({
  plugins: [react()],
  // Placeholder that the server replaces by a new nonce for each page.
  html: { cspNonce: "__CSP_NONCE__" },
  build: { target: "es2023", assetsInlineLimit: 0, reportCompressedSize: false, chunkSizeWarningLimit: 900 },
  server: {
    // For development with `vite` beside a running server, which would refuse a changed Host as a foreign page.
    proxy: Object.fromEntries(
      ["/trpc", "/api", "/auth"].map((path) => [
        path,
        { target: process.env.BERTH_URL ?? "http://127.0.0.1:8000", ws: true, changeOrigin: false },
      ]),
    ),
  },
});
