import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type RequestListener, type Server, type ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { DomainError } from "@berth/core";
import { type Host, localHost, type SshHost, sshHost } from "@berth/host";
import { hasSshd, makeSshd, type Sshd } from "@berth/host/testing";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { ANSWER_BYTES_MAX } from "./answer.ts";
import { dockerClient } from "./client.ts";
import { readFrames } from "./frames.ts";
import { jsonLines } from "./json-lines.ts";
import { pullImage } from "./pull.ts";

const WAYS = ["on this machine", ...(hasSshd ? ["over SSH"] : [])];
if (!hasSshd) console.log("Skipped the tests of a hostile engine over SSH: no sshd is installed (openssh-server)");

describe.each(WAYS)("an engine that answers what no engine does, %s", (way) => {
  let folder: string;
  let host: Host & Partial<Pick<SshHost, "close">>;
  let sshd: Sshd | undefined;
  let engine: Server | undefined;
  /** Bytes read of the answers. */
  let takenBytes = 0;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "berth-odd-engine-"));
    host = localHost("odd");
    if (way === "on this machine") return;
    sshd = await makeSshd();
    await sshd.start();
    const { port, user, privateKey } = sshd;
    host = sshHost({
      ...{ name: "odd", ip: "127.0.0.1", port, user, connectTimeoutSeconds: 10, bridgeFolder: folder },
      privateKey: async () => privateKey,
      hostKey: null,
      onHostKey: async () => {},
    });
  });
  afterEach(() => {
    engine?.close();
    engine?.closeAllConnections();
  });
  afterAll(async () => {
    await host.close?.();
    await sshd?.remove();
    rmSync(folder, { recursive: true, force: true });
  });

  const engineThat = async (answer: RequestListener) => {
    takenBytes = 0;
    const path = join(folder, `${Math.random()}.sock`);
    engine = createServer(answer).listen(path);
    await once(engine, "listening");
    return dockerClient(host, path);
  };
  /** Writes as long as the client reads. */
  const endless = (response: ServerResponse, begin: string, piece: string) => {
    response.write(begin);
    const more = () => {
      while (!response.destroyed && response.write(piece)) takenBytes += piece.length;
    };
    response.on("drain", more);
    more();
  };
  const refusal = async (work: Promise<unknown>): Promise<string> => {
    const error = await work.catch((cause: unknown) => cause);
    expect(error).toBeInstanceOf(DomainError);
    return error instanceof DomainError ? `${error.code}: ${error.message}` : "";
  };

  test.each([
    ["200", "more than 6 MB"],
    ["500", "a refusal of more than 256 KB"],
  ])("is not read for ever, with the status %s", async (status, problem) => {
    const docker = await engineThat((_request, response) => {
      response.writeHead(Number(status), { "content-type": "application/json" });
      endless(response, "[1", ",1".repeat(32_000));
    });
    expect(await refusal(docker.listContainers())).toContain(`engine.failed: The engine of odd answered ${problem}`);
    expect(takenBytes).toBeLessThan(2 * ANSWER_BYTES_MAX);
  });

  test("is not parsed with more values than a list of many containers has, unless it is no JSON", async () => {
    const docker = await engineThat((_request, response) => response.end(`[1${",1".repeat(100_000)}]`));
    expect(await refusal(docker.listContainers())).toContain("answered more than 100000 values");
    const logs = await docker.getContainer("c").logs({ stdout: true, follow: false });
    expect(logs).toHaveLength(200_003);
  });

  test("is refused when it answers something else than JSON, and may say no in any words", async () => {
    const docker = await engineThat(({ url }, response) => {
      if (url === "/info") response.end("<html>login</html>");
      else response.writeHead(503).end("<html>busy</html>");
    });
    expect(await refusal(docker.info())).toContain(
      "engine.failed: The engine of odd answered something else than JSON",
    );
    await expect(docker.listContainers()).rejects.toMatchObject({ statusCode: 503 });
  });

  test.each([
    ["a line without an end", '{"status":"', "x".repeat(64_000)],
    ["no JSON", "<html>\n", "<p>"],
  ])("ends a pull that it reports with %s", async (_what, begin, piece) => {
    const docker = await engineThat(({ url }, response) => {
      if (url?.startsWith("/images/create")) endless(response, begin, piece);
      else response.writeHead(404).end("{}");
    });
    const io = { signal: new AbortController().signal, onLine: () => undefined };
    const said = await refusal(pullImage({ docker, server: "odd", logins: new Map() }, "nginx:1", io));
    expect(said).toContain("engine.unreachable: The engine sent a report in an unknown format");
    expect(takenBytes).toBeLessThan(ANSWER_BYTES_MAX);
  });

  test("is out of reach when a pull breaks off, and refuses when it reports a failure", async () => {
    const io = { signal: new AbortController().signal, onLine: () => undefined };
    const pullFrom = async (answer: (response: ServerResponse) => void) => {
      const docker = await engineThat(({ url }, response) => {
        if (url?.startsWith("/images/create")) answer(response);
        else response.writeHead(404).end("{}");
      });
      return await refusal(pullImage({ docker, server: "odd", logins: new Map() }, "nginx:1", io));
    };
    const broken = await pullFrom((response) => response.write('{"status":"a"}\n', () => response.destroy()));
    expect(broken).toContain("engine.unreachable: The engine of odd does not answer");
    const reported = await pullFrom((response) => response.end('{"error":"manifest unknown"}\n'));
    expect(reported).toContain("deploy.build_failed: The registry has no image nginx:1");
  });

  test("is not waited for when it announces output larger than any", async () => {
    const header = Buffer.from([1, 0, 0, 0, 0xff, 0xff, 0xff, 0xff]);
    const frames = readFrames(Readable.from([header, Buffer.alloc(1000)]));
    expect(await refusal(frames.next())).toContain("engine.unreachable: The engine sent output in an unknown format");
  });

  test("reports in lines that may be cut anywhere", async () => {
    const pieces = Readable.from(['{"a":', "1}\n", "\n", '{"a":2}\r\n{"a"', ":3}"]);
    const read: unknown[] = [];
    for await (const line of jsonLines(pieces)) read.push(line);
    expect(read).toEqual([{ a: 1 }, { a: 2 }, { a: 3 }]);
  });
});
