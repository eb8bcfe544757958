import { once } from "node:events";
import { get, type IncomingMessage } from "node:http";
import { afterEach, describe, expect, it } from "vitest";
import { type Example, example } from "../example.fixture.ts";

const open: Example[] = [];
afterEach(async () => {
  for (const { app } of open.splice(0)) await app.close();
});

async function served() {
  const it = example();
  open.push(it);
  return { ...it, url: `${await it.app.listen({ port: 0, host: "127.0.0.1" })}/api/v1` };
}

const headers = { authorization: "Bearer 1|all" };
const SIZE = 1000 * 64 * 1024;

describe("a download", () => {
  it("arrives whole, with its name and size", async () => {
    const { url, inputs } = await served();
    const response = await fetch(`${url}/notes/a/file`, { headers });
    expect(response.headers.get("content-disposition")).toBe('attachment; filename="note.bin"');
    expect(response.headers.get("content-length")).toBe(String(SIZE));
    expect((await response.bytes()).length).toBe(SIZE);
    await expect.poll(() => inputs).toEqual([{ uuid: "a" }, { closedAfter: 1000 }, { isClosed: true }]);
  });

  it("is read no faster than it is received, and no further once its receiver has gone", async () => {
    const { url, inputs } = await served();
    const request = get(`${url}/notes/a/file`, { headers });
    const [response] = (await once(request, "response")) as [IncomingMessage];
    await once(response, "readable");
    request.destroy();
    await expect.poll(() => inputs).toHaveLength(3);
    // What fits in the buffers of both sockets is read ahead.
    const closedAfter = expect.toSatisfy((chunks: number) => chunks < 300);
    expect(inputs).toEqual(expect.arrayContaining([{ isClosed: true }, { closedAfter }]));
  });

  it("that fails on the way is broken off, so that its receiver knows that it is not whole", async () => {
    const { url } = await served();
    const response = await fetch(`${url}/notes/damaged/file`, { headers });
    expect(response.status).toBe(200);
    await expect(response.bytes()).rejects.toThrow("terminated");
  });

  it("is refused like every other answer before its first byte", async () => {
    const { url } = await served();
    const missing = await fetch(`${url}/notes/missing/file`, { headers });
    expect([missing.status, await missing.json()]).toEqual([
      404,
      expect.objectContaining({ message: "Note not found." }),
    ]);
    expect((await fetch(`${url}/notes/a/file`)).status).toBe(401);
  });

  it("answers HEAD without reading anything, and is closed", async () => {
    const { url, inputs } = await served();
    const response = await fetch(`${url}/notes/a/file`, { method: "HEAD", headers });
    expect([response.status, response.headers.get("content-length")]).toEqual([200, String(SIZE)]);
    await expect.poll(() => inputs).toEqual([{ uuid: "a" }, { isClosed: true }]);
  });

  it("is named with its path of REST where tRPC asks for it", async () => {
    const { app } = await served();
    const input = encodeURIComponent(JSON.stringify({ uuid: "a" }));
    const { json } = await app.inject({ url: `/trpc/notes.file?input=${input}`, headers });
    expect(json().error.message).toBe("Files are downloaded by REST: GET /api/v1/notes/{uuid}/file.");
  });
});
