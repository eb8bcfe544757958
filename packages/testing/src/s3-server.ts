import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import S3rver from "s3rver";
import { isSignedBy } from "./s3-signature.ts";

/** A server on loopback that speaks the S3 API and checks signatures. */
export interface S3Server {
  readonly endpoint: string;
  /** Name of an existing bucket. */
  readonly bucket: string;
  readonly key: string;
  readonly secret: string;
  /** Keys of the objects in the bucket. */
  objects(): readonly string[];
  /** Changes one byte of an object's stored content. */
  flipByte(key: string): void;
  close(): Promise<void>;
}

export async function startS3Server(): Promise<S3Server> {
  const directory = mkdtempSync(join(tmpdir(), "berth-s3-"));
  const bucket = "backups";
  const storage = new S3rver({
    ...{ silent: true, directory, vhostBuckets: false },
    configureBuckets: [{ name: bucket, configs: [] }],
  });
  await storage.configureBuckets();
  const answer = storage.callback();
  const server = createServer((request, response) => {
    // The library only verifies signatures of version 2.
    const isKnown = request.headers.authorization?.includes(`Credential=${LOGIN.key}/`);
    if (isKnown && !isSignedBy(request, LOGIN)) refuse(response);
    else answer(request, response);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo; // A TCP server's address is an object.
  const root = join(directory, bucket);
  const pathOf = (key: string) => join(root, `${key}${OBJECT}`);
  return {
    endpoint: `http://127.0.0.1:${port}`,
    bucket,
    ...LOGIN,
    objects: () =>
      readdirSync(root, { recursive: true, encoding: "utf8" })
        .filter((path) => path.endsWith(OBJECT) && statSync(join(root, path)).isFile())
        .map((path) => path.slice(0, -OBJECT.length))
        .sort(),
    flipByte(key) {
      const content = readFileSync(pathOf(key));
      const at = content.length >> 1;
      content[at] = (content[at] ?? 0) ^ 1;
      writeFileSync(pathOf(key), content);
    },
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** File with an object's content. */
const OBJECT = "._S3rver_object";

/** The only login that it accepts. */
const LOGIN = { key: "S3RVER", secret: "S3RVER" };

function refuse(response: ServerResponse): void {
  const text = "<Error><Code>SignatureDoesNotMatch</Code><Message>The signature does not match.</Message></Error>";
  response.writeHead(403, { "content-type": "application/xml", connection: "close" }).end(text);
}
