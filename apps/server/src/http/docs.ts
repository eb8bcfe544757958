import { readFile } from "node:fs/promises";
import { findPackageJSON } from "node:module";
import { dirname, join } from "node:path";
import { VERSION } from "@berth/core";
import type { FastifyInstance } from "fastify";
import { type Compressed, compressed, sendCompressed } from "./compressed.ts";

/** Interactive documentation served entirely by this server, and a start page for servers without a dashboard. */
export function docsPlugin(
  app: FastifyInstance,
  { hasStartPage }: { readonly hasStartPage: boolean },
  done: () => void,
): void {
  const page = (path: string, html: string, policy: string) =>
    app.get(path, (_request, reply) =>
      reply
        .headers({ "content-security-policy": policy, "cache-control": "no-cache" })
        .type("text/html; charset=utf-8")
        .send(html),
    );
  if (hasStartPage) page("/", START_PAGE, "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'");
  page("/docs", DOCS_PAGE, DOCS_POLICY);
  app.get("/docs/start.js", (_request, reply) =>
    reply.header("cache-control", "no-cache").type("text/javascript; charset=utf-8").send(DOCS_START),
  );
  const assets = findPackageJSON("swagger-ui-dist", import.meta.url);
  // A server runs without the package, too.
  if (assets !== undefined)
    for (const [name, type] of Object.entries(ASSETS)) serveAsset(app, dirname(assets), name, type);
  done();
}

/** Read and compressed when it is first asked for: the bundle has 1.5 MB. */
function serveAsset(app: FastifyInstance, folder: string, name: string, type: string): void {
  let content: Promise<Compressed> | undefined;
  app.get(`/docs/${name}`, async (request, reply) => {
    content ??= readFile(join(folder, name)).then(compressed);
    return sendCompressed(request, reply.type(type), await content);
  });
}

const ASSETS: Readonly<Record<string, string>> = {
  "swagger-ui.css": "text/css; charset=utf-8",
  "swagger-ui-bundle.js": "text/javascript; charset=utf-8",
  "favicon-32x32.png": "image/png",
};

/** Swagger UI sets inline styles and has icons in data URLs; it contacts only this server. */
const DOCS_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

const DOCS_PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Berth API</title>
<link rel="icon" href="/docs/favicon-32x32.png">
<link rel="stylesheet" href="/docs/swagger-ui.css">
</head>
<body>
<div id="docs"><p style="margin: 2rem; font-family: sans-serif">Loading the description of the API …</p></div>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/start.js"></script>
</body>
</html>
`;

/**
 * `validatorUrl` would send the description to somebody else's server. The token outlives a reload, in the storage of
 * the tab: it ends with the tab, and no other page gets it. Swagger's own `persistAuthorization` keeps it for good.
 */
const DOCS_START = `const KEY = "berth.docs.token";
const keepToken = {
  statePlugins: {
    auth: {
      wrapActions: {
        authorize: (original) => (schemes) => {
          if (schemes.bearer) sessionStorage.setItem(KEY, schemes.bearer.value);
          return original(schemes);
        },
        logout: (original) => (names) => {
          sessionStorage.removeItem(KEY);
          return original(names);
        },
      },
    },
  },
};
const ui = SwaggerUIBundle({
  url: "/api/v1/openapi.json",
  dom_id: "#docs",
  deepLinking: true,
  docExpansion: "none",
  filter: true,
  displayRequestDuration: true,
  validatorUrl: null,
  plugins: [keepToken],
  onComplete: () => {
    const token = sessionStorage.getItem(KEY);
    if (token) ui.preauthorizeApiKey("bearer", token);
  },
});
`;

const START_PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Berth</title>
<style>body{font:16px/1.6 system-ui,sans-serif;max-width:40rem;margin:4rem auto;padding:0 1rem}code{font-size:.95em}</style>
</head>
<body>
<h1>Berth</h1>
<p>Version ${VERSION} is running.</p>
<ul>
<li><a href="/docs">API documentation</a></li>
<li>OpenAPI description: <a href="/api/v1/openapi.json">JSON</a>, <a href="/api/v1/openapi.yaml">YAML</a></li>
<li><a href="/api/health">Health</a></li>
</ul>
<p>Deploy a folder from a terminal: <code>berth deploy</code></p>
</body>
</html>
`;
