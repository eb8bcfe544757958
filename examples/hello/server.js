import { createServer } from "node:http";
import { page } from "./page.js";

const startedAt = Date.now();
const uptimeSeconds = () => Math.round((Date.now() - startedAt) / 1000);

const routes = {
  "/": () => ({
    type: "text/html; charset=utf-8",
    body: page({
      name: process.env.BERTH_APP_NAME ?? "hello",
      commit: process.env.SOURCE_COMMIT ?? "unknown",
      node: process.version,
      uptimeSeconds: uptimeSeconds(),
    }),
  }),
  "/health": () => ({
    type: "application/json",
    body: `${JSON.stringify({ status: "ok", uptime_seconds: uptimeSeconds() })}\n`,
  }),
};

const server = createServer((request, response) => {
  if (request.method !== "GET" && request.method !== "HEAD") {
    response.writeHead(405, { allow: "GET, HEAD" }).end();
    return;
  }
  const [path] = (request.url ?? "/").split("?");
  const answer = Object.hasOwn(routes, path) ? routes[path]() : undefined;
  if (answer === undefined) {
    response.writeHead(404, { "content-type": "text/plain; charset=utf-8" }).end("There is no such page.\n");
    return;
  }
  response.writeHead(200, {
    "content-type": answer.type,
    "content-length": Buffer.byteLength(answer.body),
    "cache-control": "no-store",
  });
  response.end(request.method === "HEAD" ? undefined : answer.body);
});

// The port is chosen by whoever runs it, so that a new release can start beside the one it replaces.
const port = Number(process.env.PORT ?? 3000);
server.listen(port, () => console.log(`Listening on port ${server.address().port}`));

// Requests that are under way are answered before it ends.
for (const signal of ["SIGTERM", "SIGINT"]) {
  process.once(signal, () => {
    console.log(`Stopping on ${signal}`);
    server.close(() => process.exit(0));
  });
}
