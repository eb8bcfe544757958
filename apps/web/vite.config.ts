import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin } from "vite";

/** Scripts that every page needs, in the order in which they are requested. */
const COMMON = ["react", "base"];
/** Asks browsers to compile a script while it arrives, beside the page, and not function by function while it is drawn. */
const COMPILED_EARLY = "//# allFunctionsCalledOnLoad";

export default defineConfig({
  plugins: [react(), preloadCommon()],
  // Placeholder that the server replaces by a new nonce for each page.
  html: { cspNonce: "__CSP_NONCE__" },
  build: {
    target: "es2023",
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    chunkSizeWarningLimit: 900,
    rolldownOptions: {
      output: {
        postBanner: ({ name }) => (COMMON.includes(name) ? COMPILED_EARLY : ""),
        codeSplitting: {
          // Each with everything that it imports, unless an earlier one has it.
          groups: [
            { name: "entry", tags: ["$initial"], priority: 5 },
            { name: "react", test: /node_modules[\\/]react-dom[\\/]/, priority: 4 },
            { name: "base", test: /[\\/]sign-in[\\/]start\.tsx$/, priority: 3 },
            { name: "app", test: /[\\/](src[\\/]app|parts[\\/]table|resource[\\/]resource-table)\.tsx$/, priority: 2 },
          ],
        },
      },
    },
  },
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

/** Requests the common scripts together with the entry, which imports them only once it knows which page is shown. */
function preloadCommon(): Plugin {
  return {
    name: "preload-common",
    transformIndexHtml: {
      order: "post",
      handler: (_html, { bundle = {} }) =>
        COMMON.map((name) => Object.values(bundle).find((part) => part.type === "chunk" && part.name === name))
          .filter((chunk) => chunk !== undefined)
          .map(({ fileName }) => ({
            tag: "link",
            attrs: { rel: "modulepreload", crossorigin: true, href: `/${fileName}`, nonce: "__CSP_NONCE__" },
            injectTo: "head",
          })),
    },
  };
}
