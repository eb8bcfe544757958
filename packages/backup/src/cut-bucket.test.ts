import { OriginCredential } from "@berth/core";
import { type CutClient, cutsOf, describeCuts, relay, startS3Server } from "@berth/testing";
import { digest } from "./content.ts";
import { objectStorage } from "./object-storage.ts";

/** More than sockets hold, so that a cut finds some of it on its way. */
const LONG = Buffer.alloc(16 << 20, "long");
const SHORT_BYTES = 100_000;

describeCuts("a connection to a bucket", { open, codes: ["cloud.failed"], rounds: 10 });

async function* inOne(content: Buffer) {
  yield content;
}

/** The test's server also stores what was broken off, which the services do not: such objects are not counted. */
async function open(): Promise<CutClient> {
  const server = await startS3Server();
  const way = await relay({ host: "127.0.0.1", port: Number(new URL(server.endpoint).port) });
  const { bucket, key, secret } = server;
  const storageAt = (endpoint: string) =>
    objectStorage(
      { allowedPrivateHosts: ["127.0.0.1"] },
      { name: "Far", endpoint, bucket, region: "eu-central-1" },
      new OriginCredential([endpoint], { key, secret }),
    );
  const [far, near] = [storageAt(`http://127.0.0.1:${way.port}`), storageAt(server.endpoint)];
  const { signal } = new AbortController();
  await near.put("long", inOne(LONG), { sizeBytes: LONG.length, signal });
  const contentOf = (number: number) => Buffer.alloc(SHORT_BYTES, `${number};`);
  return {
    cuts: cutsOf(way),
    write: (number) => far.put(`short/${number}`, inOne(contentOf(number)), { sizeBytes: SHORT_BYTES, signal }),
    async written() {
      const names = server.objects().filter((name) => name.startsWith("short/"));
      const found: number[] = [];
      for (const name of names) {
        const number = Number(name.slice("short/".length));
        const [stored, wanted] = [await digest(near.get(name, signal)), await digest(inOne(contentOf(number)))];
        if (stored.sha256 === wanted.sha256) found.push(number);
      }
      return found;
    },
    async read(onBegun) {
      let bytes = 0;
      for await (const chunk of far.get("long", signal)) {
        if (bytes === 0) onBegun();
        bytes += chunk.length;
      }
      return bytes === LONG.length;
    },
    async close() {
      await way.close();
      await server.close();
    },
  };
}
