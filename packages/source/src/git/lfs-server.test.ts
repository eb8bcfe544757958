import { Readable } from "node:stream";
import { expect, test } from "vitest";
import type { GuardedHttp, HttpAnswer } from "./guarded-http.ts";
import { lfsDownloads, openDownload } from "./lfs-server.ts";

const POINTER = { oid: "a".repeat(64), sizeBytes: 1 };
const LOGIN = { authorization: "Basic c2VjcmV0" };

type Answer = Pick<HttpAnswer, "statusCode" | "headers"> & { readonly text: string };

/** A server that records all requests. */
function server(answers: readonly Answer[]) {
  const asked: { readonly url: string; readonly authorization: string | undefined }[] = [];
  const http: GuardedHttp = async (url, { headers = {} } = {}) => {
    asked.push({ url, authorization: headers.authorization });
    const { text, ...answer } = answers[asked.length - 1] ?? { statusCode: 404, headers: {}, text: "" };
    const body = Object.assign(Readable.from([Buffer.from(text)]), { dump: async () => undefined });
    // Only these fields of an answer are read.
    return { ...answer, body } as unknown as HttpAnswer;
  };
  return { http, asked };
}

const objectsAt = (href: string): Answer => ({
  statusCode: 200,
  headers: {},
  text: JSON.stringify({ objects: [{ oid: POINTER.oid, actions: { download: { href } } }] }),
});

test.each([
  ["https://git.test/lfs/a", LOGIN.authorization],
  ["http://git.test/lfs/a", undefined],
  ["https://git.test:8443/lfs/a", undefined],
  ["https://files.test/lfs/a", undefined],
])("a login for https://git.test goes along to %s: %s", async (href, authorization) => {
  const { http, asked } = server([objectsAt(href), { statusCode: 200, headers: {}, text: "x" }]);
  const lfs = { endpoint: "https://git.test/app.git/info/lfs", headers: LOGIN };
  const [download] = await lfsDownloads(http, lfs, [POINTER]);
  if (download === undefined) throw new Error("Something was asked for.");
  await openDownload(http, download);
  expect(asked[1]).toEqual({ url: href, authorization });
});

test("a login does not go along with a redirect that leaves https", async () => {
  const moved: Answer = { statusCode: 302, headers: { location: "http://git.test/lfs/b" }, text: "" };
  const { http, asked } = server([moved, { statusCode: 200, headers: {}, text: "x" }]);
  await openDownload(http, { ...POINTER, href: "https://git.test/lfs/a", headers: LOGIN });
  expect(asked.map(({ authorization }) => authorization)).toEqual([LOGIN.authorization, undefined]);
});
