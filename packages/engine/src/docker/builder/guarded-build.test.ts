import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { networkInterfaces } from "node:os";
import type { BuildRequest } from "@berth/core/deploy";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { sourceGuard } from "./guarded-build.ts";
import { hasEngine, type ImageSuite, imageSuite } from "./image.fixture.ts";

const COMPOSE = { build_pack: "dockercompose" } as const;

/** The only private host that these tests allow. */
const ALLOWED = "127.0.0.2";

describe.skipIf(!hasEngine)("a build on Berth's own engine", () => {
  let suite: ImageSuite;
  const asked: string[] = [];
  const answers = new Map<string, (request: IncomingMessage, response: ServerResponse) => void>();
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url} ${request.headers.authorization ?? ""}`.trim());
    const answer = answers.get(request.url ?? "");
    if (answer === undefined) response.end("hello");
    else answer(request, response);
  });
  let port = 0;
  beforeAll(async () => {
    suite = imageSuite({ privateHosts: () => [ALLOWED] });
    await new Promise<void>((resolve) => server.listen(0, "0.0.0.0", resolve));
    port = (server.address() as AddressInfo).port; // A TCP server's address is an object.
  });
  beforeEach(() => {
    asked.length = 0;
    answers.clear();
  });
  afterAll(async () => {
    server.close();
    server.closeAllConnections();
    await suite.close();
  });

  const refusal = async (files: Record<string, string>, more: Partial<BuildRequest> = {}, isStack = false) => {
    const io = { signal: new AbortController().signal, onLine: (line: string) => void suite.lines.push(line) };
    const request = suite.request(files, isStack ? COMPOSE : {}, more);
    const error: unknown = await suite.builder.build(request, io).then(
      () => undefined,
      (cause: unknown) => cause,
    );
    return error instanceof Error ? error.message : "It was built.";
  };
  const own = Object.values(networkInterfaces())
    .flatMap((all = []) => all)
    .flatMap(({ address, family, internal }) => (family === "IPv4" && !internal ? [address] : []));

  test.each(["127.0.0.1", "localhost", "2130706433", "[::ffff:127.0.0.1]", ...own])(
    "downloads nothing from this machine: %s",
    async (host) => {
      const said = await refusal({ Dockerfile: `FROM alpine:3\nADD http://${host}:${port}/file.txt /\n` });
      expect(said).toContain("could not be downloaded");
      expect(said).toContain("is a private address or this machine");
      expect(asked).toEqual([]);
    },
  );

  test("follows no redirect to this machine, and reads what comes behind a variable as the engine would", async () => {
    answers.set("/file.txt", (_request, response) =>
      response.writeHead(302, { location: `http://127.0.0.1:${port}/secret` }).end(),
    );
    const dockerfile = `FROM alpine:3\nARG HOST\nADD http://$HOST:${port}/file.txt /\n`;
    const said = await refusal({ Dockerfile: dockerfile }, { env: { HOST: ALLOWED } });
    expect(said).toContain("is a private address or this machine");
    expect(asked).toEqual(["GET /file.txt"]);
  });

  test("adds files of hosts that may be asked, as the engine would have, and uses its cache for them", async () => {
    answers.set("/a%20file.txt", (_request, response) =>
      response.writeHead(200, { "last-modified": "Tue, 01 Sep 2020 10:00:00 GMT" }).end("content"),
    );
    const files = {
      Dockerfile: [
        "FROM alpine:3 AS base",
        `ADD http://who:word@${ALLOWED}:${port}/a%20file.txt?x=1 /one`,
        "FROM base",
        `ADD http://${ALLOWED}:${port}/dir/second.sh /two/`,
        'RUN head -c 8 /dev/urandom | od -An -tx1 > /id; stat -c "%a %u %Y" /one > /stat',
        'CMD ["sh", "-c", "cat /one /two/second.sh /stat"]',
      ].join("\n"),
    };
    answers.set("/a%20file.txt?x=1", answers.get("/a%20file.txt") ?? (() => undefined));
    const { image } = await suite.build(files);
    expect(await suite.output(image)).toBe("contenthello600 0 1598954400\n");
    expect(asked).toContain(`GET /a%20file.txt?x=1 Basic ${btoa("who:word")}`);
    const again = await suite.build(files);
    expect(await suite.output(again.image, ["cat", "/id"])).toBe(await suite.output(image, ["cat", "/id"]));
    expect(suite.lines.join("\n")).not.toContain("who:word@127.0.0.2/a");
  });

  test("says what a host answered", async () => {
    answers.set("/file.txt", (_request, response) => response.writeHead(404).end());
    const said = await refusal({ Dockerfile: `FROM alpine:3\nADD http://${ALLOWED}:${port}/file.txt /\n` });
    expect(said).toBe(`http://${ALLOWED}:${port}/file.txt could not be downloaded: its host answered 404.`);
  });

  test.each([
    ["a line of it", (host: string) => ({ Dockerfile: `# syntax=${host}/frontend\nFROM alpine:3\n` }), {}],
    ["a later line", (host: string) => ({ Dockerfile: `# a=b\n#Syntax = ${host}/frontend:1\nFROM alpine:3\n` }), {}],
    ["an argument", () => ({ Dockerfile: "FROM alpine:3\n" }), { BUILDKIT_SYNTAX: "host/frontend" }],
  ])("runs no frontend that the Dockerfile names in %s", async (_where, files, env) => {
    const said = await refusal(files(`127.0.0.1:${port}`), { env });
    expect(said).toContain("is a program that would run inside of the engine");
    expect(asked).toEqual([]);
  });

  test("does not find a frontend where Berth finds none", async () => {
    const { image } = await suite.build({
      Dockerfile: `# a\n# syntax=127.0.0.1:${port}/x\nFROM alpine:3\nCMD ["echo","made"]`,
    });
    expect(await suite.output(image)).toBe("made\n");
    expect(asked).toEqual([]);
  });

  test.each([
    ["a context", (url: string) => `build: ${url}/context.tar`],
    ["a repository", (url: string) => `build: ${url}/a.git#main`],
    [
      "a context with a Dockerfile beside it",
      (url: string) => `build: {context: "${url}/a.git", dockerfile_inline: "FROM alpine:3"}`,
    ],
    ["a further context", (url: string) => `build: {context: ., additional_contexts: {more: "${url}/more.tar"}}`],
  ])("reads nothing from this machine as %s of a compose file", async (_what, build) => {
    const text = `services:\n  web:\n    ${build(`http://127.0.0.1:${port}`)}\n`;
    const files = { "docker-compose.yaml": text, Dockerfile: "FROM alpine:3\nCOPY --from=more / /\n" };
    expect(await refusal(files, {}, true)).toContain("is a URL, and Berth's own machine does not fetch that");
    expect(asked).toEqual([]);
  });

  test("downloads nothing from this machine for a Dockerfile inside of a compose file", async () => {
    const inline = `FROM alpine:3\nADD http://127.0.0.1:${port}/file.txt /\n`;
    const text = `services:\n  web:\n    build: {context: ., dockerfile_inline: ${JSON.stringify(inline)}}\n`;
    expect(await refusal({ "docker-compose.yaml": text }, {}, true)).toContain("is a private address or this machine");
    expect(asked).toEqual([]);
  });

  test("reaches no loopback of this machine in its steps", async () => {
    const tried = `wget -T 2 -q -O - http://127.0.0.1:${port}/run http://localhost:${port}/run`;
    const { image } = await suite.build({
      Dockerfile: `FROM alpine:3\nRUN ${tried} > /said 2>&1; echo ended >> /said\n`,
    });
    expect(await suite.output(image, ["tail", "-n", "1", "/said"])).toBe("ended\n");
    expect(asked).toEqual([]);
  });
});

test("a plan may name nothing that is neither an image, a file of the build, nor fetched by http", async () => {
  const io = { signal: new AbortController().signal, onLine: () => undefined };
  const guard = sourceGuard({ privateHosts: [], folder: "/nowhere" }, io);
  for (const identifier of ["git://127.0.0.1/a.git#main", "ssh://x", "blob://x", "ftp://127.0.0.1/x"]) {
    await expect(guard([{ identifier, attrs: {} }], io.signal)).rejects.toThrow("does not fetch that");
  }
});
