import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { localHost } from "@berth/host";
import { type CutClient, cutsOf, describeCuts, relay } from "@berth/testing";
import { caddyAdmin } from "./admin.ts";

const UPSTREAMS = Array.from({ length: 5_000 }, (_, n) => ({ address: `10.0.0.1:${n}`, num_requests: n }));

describeCuts("a connection to Caddy's admin socket", { open, codes: ["engine.unreachable"], rounds: 100 });

/** A server in the place of Caddy, which loads whole configurations: loading one twice is the same as once. */
async function open(): Promise<CutClient> {
  const folder = mkdtempSync(join(tmpdir(), "berth-cut-admin-"));
  const loaded = new Set<number>();
  const caddy = createServer(async (request, response) => {
    if (request.url !== "/load") return void response.end(JSON.stringify(UPSTREAMS));
    const config = await text(request).catch(() => undefined);
    if (config === undefined) return;
    loaded.add((JSON.parse(config) as { number: number }).number);
    response.end();
  });
  caddy.listen(join(folder, "caddy.sock"));
  await once(caddy, "listening");
  const path = join(folder, "cut.sock");
  const way = await relay({ path: join(folder, "caddy.sock") }, path);
  const admin = caddyAdmin(localHost("here"), async () => path);
  return {
    cuts: cutsOf(way),
    write: (number) => admin.load(JSON.stringify({ number, filling: "x".repeat(100_000) })),
    written: async () => [...loaded],
    async read(onBegun) {
      const reading = admin.requestCounts();
      onBegun();
      return (await reading).size === UPSTREAMS.length;
    },
    async close() {
      await way.close();
      caddy.close();
      caddy.closeAllConnections();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
