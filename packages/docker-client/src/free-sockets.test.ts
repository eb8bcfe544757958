import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { localHost } from "@berth/host";
import { expect, test } from "vitest";
import { dockerClient } from "./client.ts";

test("an engine that is asked much at once keeps two connections afterwards", async () => {
  const folder = mkdtempSync(join(tmpdir(), "berth-client-"));
  const path = join(folder, "engine.sock");
  const waiting: ServerResponse[] = [];
  const engine = createServer((_request, response) => void waiting.push(response)).listen(path);
  // A Docker engine leaves idle connections open.
  engine.keepAliveTimeout = 0;
  const connections = () => new Promise<number>((resolve) => engine.getConnections((_error, count) => resolve(count)));
  try {
    await once(engine, "listening");
    const docker = dockerClient(localHost("here"), path);
    const answers = Promise.all(Array.from({ length: 8 }, () => docker.ping()));
    await expect.poll(() => waiting.length).toBe(8);
    expect(await connections()).toBe(8);
    for (const response of waiting) response.end("OK");
    await answers;
    await expect.poll(connections).toBe(2);
  } finally {
    engine.closeAllConnections();
    engine.close();
    rmSync(folder, { recursive: true, force: true });
  }
});
