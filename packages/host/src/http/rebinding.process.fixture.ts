// Runs alone in namespaces without any network but a loopback: answers names as a hostile DNS server does, calls them,
// and prints a line of JSON about what happened.
import { createSocket } from "node:dgram";
import { createServer } from "node:http";
import { decode, encode } from "dns-packet";
import { guardedFetch } from "./guarded-fetch.ts";
import { HttpFault } from "./http-fault.ts";

/** In a range for documentation, which counts as public and which nobody reaches from here. */
const PUBLIC = "203.0.113.9";
const PORT = 8080;

const ADDRESSES: Readonly<Record<string, (asked: number) => readonly string[]>> = {
  "rebinding.test": (asked) => [asked === 1 ? PUBLIC : "127.0.0.1"],
  "both.test": () => [PUBLIC, "127.0.0.1"],
  "redirecting.test": () => ["127.0.0.1"],
};

const asked: Record<string, number> = {};
const requests: string[] = [];

const dns = createSocket("udp4", (message, { port, address }) => {
  const { id, questions = [] } = decode(message);
  const answers = questions.flatMap(({ name, type }) => {
    if (type !== "A") return [];
    asked[name] = (asked[name] ?? 0) + 1;
    return (ADDRESSES[name]?.(asked[name]) ?? []).map((data) => ({ type: "A" as const, name, ttl: 0, data }));
  });
  dns.send(encode({ type: "response", ...(id === undefined ? {} : { id }), questions, answers }), port, address);
});
await new Promise<void>((resolve) => dns.bind(53, "127.0.0.1", resolve));

const server = createServer(({ headers: { host = "" } }, response) => {
  requests.push(host);
  if (host.startsWith("redirecting.test")) {
    response.writeHead(302, { location: `http://rebinding.test:${PORT}/` }).end();
  } else response.end("secret");
});
await new Promise<void>((resolve) => server.listen(PORT, "127.0.0.1", resolve));

async function outcome(name: string, allowedPrivateHosts: readonly string[]): Promise<string> {
  const fetch = guardedFetch({ allowedPrivateHosts, secondsMax: 10, bytesMax: 1000 });
  try {
    return await (await fetch(`http://${name}:${PORT}/`)).text();
  } catch (error) {
    if (error instanceof HttpFault) return error.reason;
    throw error;
  }
}

const open = ["rebinding.test"];
const outcomes = {
  first: await outcome("rebinding.test", []),
  second: await outcome("rebinding.test", []),
  both: await outcome("both.test", []),
  redirected: await outcome("redirecting.test", ["redirecting.test"]),
  allowed: await outcome("rebinding.test", open),
};
console.log(JSON.stringify({ ...outcomes, asked, requests }));
process.exit(0);
