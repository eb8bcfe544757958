import { findPackageJSON } from "node:module";
import { dirname } from "node:path";
import { VERSION } from "@berth/core";
import fastifyStatic from "@fastify/static";
import type { FastifyInstance } from "fastify";

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
  // The package is optional.
  if (assets !== undefined) {
    app.register(fastifyStatic, {
      root: dirname(assets),
      prefix: "/docs/",
      allowedPath: (path) => ASSETS.has(path),
      index: false,
      decorateReply: false,
      maxAge: "1h",
    });
  }
  done();
}

const ASSETS: ReadonlySet<string> = new Set(["/swagger-ui.css", "/swagger-ui-bundle.js", "/favicon-32x32.png"]);

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
<div id="docs"></div>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/start.js"></script>
</body>
</html>
`;

/** The default `validatorUrl` would send the description to a third party. */
const DOCS_START = `SwaggerUIBundle({
  url: "/api/v1/openapi.json",
  dom_id: "#docs",
  deepLinking: true,
  docExpansion: "none",
  filter: true,
  displayRequestDuration: true,
  validatorUrl: null,
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
