import { expect, test } from "vitest";
import { isDevelopmentServer } from "./frameworks.ts";

test.each([
  ...["vite", "vite --host", "vite dev", "vite preview --port 3", "react-scripts start", "npx vite", "gatsby develop"],
  ...[
    "NODE_ENV=x vite",
    "npm run dev",
    "ng serve",
    "astro preview",
    "parcel index.html",
    "next dev",
    "cross-env A=1 vite",
  ],
])("%j is a development server", (script) => {
  expect(isDevelopmentServer(script)).toBe(true);
});

test.each([
  "vite-node server.ts",
  "node vite.js",
  "next start",
  "serve -s dist",
  "parcel build && node x",
  "nuxt start",
  "vite build && node x",
])("%j is none", (script) => {
  expect(isDevelopmentServer(script)).toBe(false);
});
