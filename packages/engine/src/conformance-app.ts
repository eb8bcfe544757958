/**
 * Source of the conformance suite's application: a Node program without dependencies that acts on HTTP requests, so
 * that one program serves every test on every engine.
 */
export const CONFORMANCE_APP = `
import { createServer } from "node:http";
import { appendFileSync, readFileSync } from "node:fs";

const actions = {
  pid: () => String(process.pid),
  env: ({ name }) => JSON.stringify(process.env[name] ?? null),
  log: ({ text }) => (console.log(text), ""),
  exit: ({ code }) => (setTimeout(() => process.exit(Number(code)), 5), ""),
  kill: () => (setTimeout(() => process.kill(process.pid, "SIGKILL"), 5), ""),
  append: ({ file, text }) => (appendFileSync(file, text), ""),
  read: ({ file }) => readFileSync(file, "utf8"),
  allocate: ({ bytes }) => String(Buffer.alloc(Number(bytes), 1).length),
};

const server = createServer((request, response) => {
  const url = new URL(request.url, "http://app");
  try {
    response.end(actions[url.pathname.slice(1)](Object.fromEntries(url.searchParams)));
  } catch (error) {
    response.writeHead(500).end(String(error));
  }
});
server.listen(Number(process.env.PORT ?? 3000), "0.0.0.0", () => console.log("listening"));
process.once("SIGTERM", () => {
  console.log("asked to end");
  server.close(() => process.exit(0));
  server.closeAllConnections();
});
`;
