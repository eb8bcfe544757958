import { embeddedProxy } from "./embedded.ts";
import { site } from "./proxy.fixture.ts";

/** A control plane that tests kill: starts or adopts the proxy, routes one site to a port, and waits. */
const [, , folder = "", port = "", upstreamPort = ""] = process.argv;
const proxy = await embeddedProxy({ folder, host: "127.0.0.1", port: Number(port), nodePath: process.execPath });
await proxy.put(site("a", [{ host: "127.0.0.1", port: Number(upstreamPort) }]));
console.log((await proxy.status()).pid);
setInterval(() => {}, 60_000);
