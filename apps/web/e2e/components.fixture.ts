import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { describeUnless, hasChromium } from "@berth/testing";
import react from "@vitejs/plugin-react";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect } from "vitest";
import { openBrowser, type Visit, visit } from "./browser.fixture.ts";

const FOLDER = fileURLToPath(new URL("../components", import.meta.url));
const TYPES: Readonly<Record<string, string>> = { html: "text/html", js: "text/javascript", css: "text/css" };
/** As of the server's pages: no script but the page's own files runs. */
const POLICY = "default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:";

/** Opens the page of `components/` that shows one component alone. */
export type ShowComponent = (name: string, as?: { readonly abilities: readonly string[] }) => Promise<Visit>;

/** A suite on single components in a browser, without a Berth server. Nothing may complain in the console. */
export function describeComponents(title: string, suite: (show: ShowComponent) => void): void {
  describeUnless(hasChromium ? undefined : "Chromium is not installed", title, () => {
    let server: Awaited<ReturnType<typeof serveComponents>>;
    let browser: Browser;
    beforeAll(async () => {
      server = await serveComponents();
      browser = await openBrowser();
    });
    afterAll(async () => {
      await browser?.close();
      await server?.close();
    });
    suite(async (name, { abilities } = { abilities: ["read", "write"] }) => {
      server.abilities = abilities;
      const visited = await visit(browser, server.url);
      await visited.page.goto(`/?name=${name}`);
      const close = async () => {
        await visited.close();
        expect(visited.complaints).toEqual([]);
      };
      return { ...visited, close };
    });
  });
}

/** Builds the page, and serves it from memory. */
async function serveComponents() {
  const files = await builtComponents();
  const state = { abilities: [] as readonly string[] };
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? "/", "http://localhost");
    // Buttons ask what the user may do.
    if (pathname.startsWith("/trpc/auth.current")) {
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify([{ result: { data: sessionOf(state.abilities) } }]));
      return;
    }
    const path = pathname === "/" ? "index.html" : pathname.slice(1);
    const content = files.get(path);
    response.setHeader("content-security-policy", POLICY);
    response.setHeader("content-type", TYPES[path.split(".").at(-1) ?? ""] ?? "application/octet-stream");
    // A browser asks for an icon by itself.
    response.writeHead(content !== undefined || path === "favicon.ico" ? 200 : 404).end(content);
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo; // It listens on a port.
  const close = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => void server.close(resolve));
  };
  return Object.assign(state, { url: `http://127.0.0.1:${port}`, close });
}

const sessionOf = (abilities: readonly string[]) => ({
  team: { id: 1, name: "Shop", role: abilities.includes("write") ? "admin" : "member" },
  abilities,
});

/** Contents by path. */
async function builtComponents(): Promise<ReadonlyMap<string, string | Uint8Array>> {
  // Loaded only where there is a browser.
  const { build } = await import("vite");
  const built = await build({
    root: FOLDER,
    configFile: false,
    logLevel: "error",
    plugins: [react()],
    build: { write: false, minify: false, target: "es2023", assetsInlineLimit: 0, reportCompressedSize: false },
  });
  if (!("output" in built)) throw new Error("The page is built once, for one target.");
  return new Map(built.output.map((file) => [file.fileName, file.type === "chunk" ? file.code : file.source]));
}
