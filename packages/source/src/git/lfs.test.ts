import { createHash } from "node:crypto";
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pipeline, Readable } from "node:stream";
import { isDomainError } from "@berth/core";
import type { SourceSpec } from "@berth/core/ports";
import { basicCredentials } from "@berth/core/source";
import { createRepository, type GitServer, startGitServer, type TestRepository } from "@berth/testing";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type SourceFetcherOptions, sourceFetcher } from "./fetcher.ts";
import { namesLfs, parseLfsPointer } from "./lfs-pointer.ts";

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");
const pointer = (text: string) =>
  `version https://git-lfs.github.com/spec/v1\noid sha256:${sha256(text)}\nsize ${Buffer.byteLength(text)}\n`;
const LOGIN = { username: "me", password: "secret" };
const BASIC = `Basic ${Buffer.from("me:secret").toString("base64")}`;
const LARGE = "a large file ".repeat(1000);

let base: string;
let repository: TestRepository;
let servers: GitServer[];
let lfs: { method: string; url: string; authorization: string | undefined }[];
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), "berth-lfs-"));
  repository = createRepository(join(base, "repos", "app.git"));
  servers = [];
  lfs = [];
});
afterEach(async () => {
  await Promise.all(servers.map((server) => server.close()));
  rmSync(base, { recursive: true, force: true });
});

interface LfsAnswers {
  readonly intercept?: (request: IncomingMessage, response: ServerResponse) => boolean;
  readonly host?: string;
  readonly objects?: Readonly<Record<string, string>>;
  /** Download address of an object. Default: on the same server. */
  readonly href?: (oid: string) => string;
  readonly header?: Readonly<Record<string, string>>;
  readonly status?: number;
}

/** A Git LFS server by the specification, beside git's own. */
async function serve(answers: LfsAnswers = {}): Promise<GitServer> {
  const objects = answers.objects ?? { [sha256(LARGE)]: LARGE };
  const server = await startGitServer({
    root: join(base, "repos"),
    login: LOGIN,
    ...(answers.host === undefined ? {} : { host: answers.host }),
    intercept: (request, response) => {
      const { method = "", url = "" } = request;
      if (answers.intercept?.(request, response)) return true;
      if (!url.includes("/lfs/")) return false;
      lfs.push({ method, url, authorization: request.headers.authorization });
      if (url.endsWith("/objects/batch")) void batch(request, response, answers, objects, server.url);
      else sendObject(response, objects[url.split("/").at(-1) ?? ""]);
      return true;
    },
  });
  servers.push(server);
  return server;
}

async function batch(
  request: IncomingMessage,
  response: ServerResponse,
  { href, header, status = 200 }: LfsAnswers,
  objects: Readonly<Record<string, string>>,
  url: string,
): Promise<void> {
  let body = "";
  for await (const chunk of request) body += chunk;
  const asked: { objects: { oid: string; size: number }[] } = JSON.parse(body);
  const found = asked.objects.map(({ oid, size }) =>
    objects[oid] === undefined && href === undefined
      ? { oid, size, error: { code: 404, message: "gone" } }
      : { oid, size, actions: { download: { href: href?.(oid) ?? `${url}/lfs/${oid}`, header } } },
  );
  const isAllowed = request.headers.authorization === BASIC;
  response.writeHead(isAllowed ? status : 401, { "content-type": "application/vnd.git-lfs+json" });
  response.end(JSON.stringify({ transfer: "basic", objects: found }));
}

function sendObject(response: ServerResponse, content: string | undefined): void {
  if (content === undefined) response.writeHead(404).end();
  else response.writeHead(200).end(content);
}

function checkout(url: string, options: Partial<SourceFetcherOptions> = {}, deploymentUuid = "d1") {
  const folder = join(base, "sources");
  const source = sourceFetcher({ folder, allowFileProtocol: true, allowedPrivateHosts: ["127.0.0.1"], ...options });
  const spec: SourceSpec = {
    type: "git",
    repository: url,
    branch: "main",
    commit: "HEAD",
    cacheOwner: "team 1",
    credentials: basicCredentials([url], LOGIN),
  };
  return source.checkout(spec, deploymentUuid, { signal: new AbortController().signal, onLine: () => {} });
}

async function refusal(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!isDomainError(error)) throw new Error("Expected a DomainError", { cause: error });
  expect(readdirSync(join(base, "sources", "checkouts"))).toEqual([]);
  return `${error.code} ${error.message}`;
}

const files = {
  ".gitattributes": "*.bin filter=lfs diff=lfs merge=lfs -text\n",
  "a.bin": pointer(LARGE),
  "b.txt": "text",
};

describe("files of Git LFS", () => {
  test("take the place of their pointers, with their permissions, and are fetched once", async () => {
    chmodSync(repository.folder, 0o755);
    repository.commit({ ...files, "copy.bin": { script: pointer(LARGE) } });
    const server = await serve();
    const { folder } = await checkout(`${server.url}/app.git`);
    expect(readFileSync(join(folder, "a.bin"), "utf8")).toBe(LARGE);
    expect(statSync(join(folder, "copy.bin")).mode & 0o777).toBe(0o755);
    expect(readFileSync(join(folder, "b.txt"), "utf8")).toBe("text");
    expect(readdirSync(folder).sort()).toEqual([".gitattributes", "a.bin", "b.txt", "copy.bin"]);
    expect(lfs.map(({ method, url }) => `${method} ${url}`)).toEqual([
      "POST /app.git/info/lfs/objects/batch",
      `GET /lfs/${sha256(LARGE)}`,
    ]);
    await checkout(`${server.url}/app.git`, {}, "d2");
    expect(lfs).toHaveLength(2);
  });

  test("of a folder of this machine are copied from it", async () => {
    repository.commit(files);
    const oid = sha256(LARGE);
    const store = join(repository.folder, ".git/lfs/objects", oid.slice(0, 2), oid.slice(2, 4));
    expect(await refusal(checkout(repository.url))).toContain("Run git lfs fetch there");
    mkdirSync(store, { recursive: true });
    writeFileSync(join(store, oid), LARGE);
    const { folder } = await checkout(repository.url);
    expect(readFileSync(join(folder, "a.bin"), "utf8")).toBe(LARGE);
  });

  test("are left alone where no .gitattributes gives them to LFS", async () => {
    repository.commit({ "a.bin": pointer(LARGE) });
    const { folder } = await checkout(repository.url);
    expect(readFileSync(join(folder, "a.bin"), "utf8")).toBe(pointer(LARGE));
  });

  test("that are missing, other than promised, or not given are said so, and nothing is kept", async () => {
    repository.commit(files);
    const missing = await serve({ objects: {} });
    expect(await refusal(checkout(`${missing.url}/app.git`))).toMatch(
      /^source\.not_found .* does not have the Git LFS object/,
    );
    const other = await serve({ objects: { [sha256(LARGE)]: LARGE.toUpperCase() } });
    expect(await refusal(checkout(`${other.url}/app.git`))).toContain("differs from its pointer");
    const longer = await serve({ objects: { [sha256(LARGE)]: `${LARGE}x` } });
    expect(await refusal(checkout(`${longer.url}/app.git`))).toContain("is longer than its pointer says");
    const without = await serve({ status: 404 });
    expect(await refusal(checkout(`${without.url}/app.git`))).toContain(
      "does not serve Git LFS for this repository (status 404)",
    );
    const kept = join(base, "sources", "mirrors");
    const objects = readdirSync(kept, { recursive: true }).map(String);
    expect(objects.filter((name) => name.endsWith(sha256(LARGE)))).toEqual([]);
  });

  test("count in the size limit before any is fetched", async () => {
    repository.commit(files);
    const server = await serve();
    const limits = { unpackedBytes: 5000 };
    expect(await refusal(checkout(`${server.url}/app.git`, { limits }))).toMatch(/^request\.too_large /);
    expect(lfs).toEqual([]);
  });

  test("are fetched from no private address, and no other host learns the login", async () => {
    repository.commit(files);
    const inner = await serve({ host: "127.0.0.2" });
    const privately = await serve({ href: (oid) => `${inner.url}/lfs/${oid}` });
    expect(await refusal(checkout(`${privately.url}/app.git`))).toContain("127.0.0.2 is a private address");
    lfs = [];
    const options = { allowedPrivateHosts: ["127.0.0.0/8"] };
    await checkout(`${privately.url}/app.git`, options);
    expect(lfs.map(({ authorization }) => authorization)).toEqual([BASIC, undefined]);
  });

  test("may be redirected to another host, which does not learn the login", async () => {
    repository.commit(files);
    const store = await serve({ host: "127.0.0.2" });
    const server = await serve({
      intercept: (request, response) => {
        if (!request.url?.startsWith("/lfs/")) return false;
        response.writeHead(302, { location: `${store.url}${request.url}` }).end();
        return true;
      },
    });
    const { folder } = await checkout(`${server.url}/app.git`, { allowedPrivateHosts: ["127.0.0.0/8"] });
    expect(readFileSync(join(folder, "a.bin"), "utf8")).toBe(LARGE);
    expect(lfs.map(({ authorization }) => authorization)).toEqual([BASIC, undefined]);
    await rm(join(base, "sources"), { recursive: true });
    expect(await refusal(checkout(`${server.url}/app.git`))).toContain("127.0.0.2 is a private address");
  });

  test("are fetched from the server that .lfsconfig names, with the login only where it is the same", async () => {
    const server = await serve();
    repository.commit({ ...files, ".lfsconfig": `[lfs]\n\turl = ${server.url}/other/lfs/\n` });
    await checkout(`${server.url}/app.git`);
    expect(lfs[0]).toMatchObject({ url: "/other/lfs/objects/batch", authorization: BASIC });
    lfs = [];
    const elsewhere = await serve();
    repository.commit({ "c.bin": pointer("c"), ".lfsconfig": `[lfs]\n\turl = ${elsewhere.url}/lfs\n` });
    expect(await refusal(checkout(`${server.url}/app.git`))).toMatch(/^source\.unauthorized /);
    expect(lfs.map(({ authorization }) => authorization)).toEqual([undefined]);
  });

  test("are asked for where no file of this machine says, even if .lfsconfig includes it", async () => {
    const server = await serve();
    writeFileSync(join(base, "private"), `[lfs]\n\turl = ${server.url}/private/lfs\n`);
    repository.commit({ ...files, ".lfsconfig": `[include]\n\tpath = ${join(base, "private")}\n` });
    await checkout(`${server.url}/app.git`);
    expect(lfs[0]?.url).toBe("/app.git/info/lfs/objects/batch");
  });

  test("are not fetched when the server's answer about them never ends", async () => {
    repository.commit(files);
    let sentBytes = 0;
    const server = await serve({
      intercept: (request, response) => {
        if (!request.url?.endsWith("/objects/batch")) return false;
        response.writeHead(200, { "content-type": "application/json" });
        const chunk = Buffer.alloc(1 << 16, " ");
        const endless = new Readable({
          read() {
            sentBytes += chunk.length;
            this.push(sentBytes > 64 << 20 ? null : chunk);
          },
        });
        pipeline(endless, response, () => {});
        return true;
      },
    });
    expect(await refusal(checkout(`${server.url}/app.git`))).toContain("more than 4 MiB");
    expect(sentBytes).toBeLessThan(32 << 20);
  });

  test.each(["ext::touch x", "file:///etc", "/etc", "ssh://git@host/x", "http://me:pw@127.0.0.1/x", "-x"])(
    "are not asked for at %s",
    async (url) => {
      const server = await serve();
      repository.commit({ ...files, ".lfsconfig": `[lfs]\n\turl = "${url}"\n` });
      expect(await refusal(checkout(`${server.url}/app.git`))).toContain("Correct .lfsconfig");
    },
  );
});

test.each([
  ["*.bin filter=lfs diff=lfs", true],
  ["a text\n*.psd\tfilter=lfs\n", true],
  ["# *.bin filter=lfs", false],
  ["*.bin filter=lfsx", false],
  ["*.bin -filter=lfs", false],
])("%j gives files to Git LFS: %s", (text, uses) => {
  expect(namesLfs(text)).toBe(uses);
});

test.each([
  ["", undefined],
  [pointer("x").replace("sha256", "md5"), undefined],
  [pointer("x").replace("size 1", "size -1"), undefined],
  [`x${pointer("x")}`, undefined],
  [pointer("x").replace("oid", "ext-0-foo sha256:00\noid"), { oid: sha256("x"), sizeBytes: 1 }],
  [pointer("x"), { oid: sha256("x"), sizeBytes: 1 }],
])("%j is read as the pointer %j", (text, expected) => {
  expect(parseLfsPointer(text)).toEqual(expected);
});
