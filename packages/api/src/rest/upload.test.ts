import { request } from "node:http";
import { afterEach, describe, expect, it } from "vitest";
import { ask, type Example, example } from "../example.fixture.ts";
import { sendWhole } from "../late-reader.fixture.ts";

const open: Example[] = [];
afterEach(async () => {
  for (const { app } of open.splice(0)) await app.close();
});

async function served() {
  const it = example();
  open.push(it);
  const base = await it.app.listen({ port: 0, host: "127.0.0.1" });
  return { ...it, url: `${base}/api/v1`, port: Number(new URL(base).port) };
}

const headers = { authorization: "Bearer 1|all", "content-type": "application/gzip" };

describe("an upload", () => {
  it("reaches the operation as it arrives, beyond the limit of JSON bodies", async () => {
    const api = await served();
    const body = new Uint8Array(1_900_000);
    const response = await fetch(`${api.url}/notes/a/file?name=x`, { method: "POST", headers, body });
    expect([response.status, await response.json()]).toEqual([200, { bytes: 1_900_000 }]);
    expect(api.inputs).toEqual([{ uuid: "a", name: "x" }]);
  });

  it("may be empty", async () => {
    const { status, json } = await ask(await served(), "POST", "/notes/a/file", { text: "" });
    expect([status, json]).toEqual([200, { bytes: 0 }]);
  });

  it("is refused with an answer that the sender gets to read", async () => {
    const api = await served();
    const body = new Uint8Array(30_000_000);
    const tooLarge = await fetch(`${api.url}/notes/a/file`, { method: "POST", headers, body });
    expect([tooLarge.status, ((await tooLarge.json()) as { code: string }).code]).toEqual([413, "request.too_large"]);
    const missing = await fetch(`${api.url}/notes/missing/file`, { method: "POST", headers, body });
    expect([missing.status, ((await missing.json()) as { code: string }).code]).toEqual([404, "resource.not_found"]);
    const nobody = await fetch(`${api.url}/notes/a/file`, { method: "POST", body });
    expect(nobody.status).toBe(401);
    const other = { ...headers, "content-type": "text/html" };
    const html = await fetch(`${api.url}/notes/a/file`, { method: "POST", headers: other, body: "<html>" });
    expect([html.status, ((await html.json()) as { code: string }).code]).toEqual([
      ...[415, "request.unsupported_media_type"],
    ]);
  });

  it.each(["a", "missing"])(
    "is refused with an answer also for a sender that listens only when all is sent (%s)",
    async (uuid) => {
      const { port } = await served();
      const head = [
        `POST /api/v1/notes/${uuid}/file HTTP/1.1`,
        ...[`authorization: ${headers.authorization}`, "content-type: application/gzip"],
      ];
      const answer = await sendWhole(port, head, Buffer.alloc(30_000_000));
      expect(answer).toMatch(uuid === "a" ? /^HTTP\/1.1 413 / : /^HTTP\/1.1 404 /);
    },
  );

  it("that breaks off is no fault of ours", async () => {
    const api = await served();
    const sent = request({ port: api.port, method: "POST", path: "/api/v1/notes/a/file", headers });
    sent.on("error", () => undefined);
    sent.write(Buffer.alloc(1000));
    await expect.poll(() => api.inputs.length).toBe(1);
    sent.destroy();
    await expect.poll(() => api.app.server.listening && openConnections(api)).toBe(0);
    expect(api.faults).toEqual([]);
  });
});

const openConnections = ({ app }: Example) =>
  new Promise<number>((resolve) => app.server.getConnections((_, count) => resolve(count)));
