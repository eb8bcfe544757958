import { connect, createServer, type Socket } from "node:net";
import { createClient, problemOf } from "@berth/client";
import { afterEach, describe, expect, it } from "vitest";
import { type HttpOptions, httpServer, listen } from "./http.ts";
import { readiness } from "./readiness.ts";
import { noSignIns } from "./sign-ins.fixture.ts";

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

/** @param control The use cases that the test asks for. */
async function served(control: object, port = 0) {
  const app = httpServer({
    signIns: noSignIns,
    webhooks: { receive: async () => "pong" },
    controlFor: () => control as ReturnType<HttpOptions["controlFor"]>,
    limitReads: (_bytes, work) => work(),
    authenticator,
    requestsPerMinute: 0,
    log: { error: () => undefined },
    readiness: readiness(),
    closeGraceSeconds: 1,
  });
  closing.push(() => app.close());
  const url = await listen(app, { host: "127.0.0.1", port });
  return { app, url, port: Number(new URL(url).port) };
}

const authenticator = {
  async findToken() {
    const dates = {
      kind: "api" as const,
      confirmed_at: null,
      lacks_second_factor: false,
      expires_at: null,
      last_used_at: null,
      created_at: new Date(0),
    };
    return {
      id: 1,
      team_id: 0,
      name: "test",
      abilities: ["root" as const],
      user_id: 0,
      role: "owner" as const,
      is_api_enabled: true,
      ...dates,
    };
  },
  touchToken() {},
};

describe("the client", () => {
  it("calls operations with the token", async () => {
    const { url } = await served({ instance: { version: () => "4.0.0" } });
    const client = createClient({ url: `${url}/`, token: "1|secret" });
    expect(await Promise.all([client.version.query(), client.health.query()])).toEqual(["4.0.0", "OK"]);
  });

  it("tells what the server refused", async () => {
    const { url } = await served({});
    const refused = await createClient({ url })
      .version.query()
      .catch((error: unknown) => problemOf(error));
    expect(refused).toMatchObject({ message: "Unauthenticated.", code: "auth.unauthenticated" });
    const fields = await createClient({ url, token: "1|secret" })
      .projects.create.mutate({ name: "" })
      .then(() => undefined, problemOf);
    expect(fields?.errors).toHaveProperty("name");
    expect(problemOf(new Error("offline"))).toBeUndefined();
  });

  it("continues without a gap or a repeat when connections are cut and the server restarts", async () => {
    const total = 2000;
    const lines: string[] = [];
    const after: (string | undefined)[] = [];
    const control = {
      logs: {
        async follow(_owner: object, options: { after: string | undefined; signal: AbortSignal }) {
          after.push(options.after);
          return follow(lines, options, total);
        },
      },
    };
    const first = await served(control);
    const cut = await gate(first.port);
    const writing = setInterval(() => {
      for (let i = 0; i < 5 && lines.length < total; i++) lines.push(`line ${lines.length + 1}`);
    }, 10);
    closing.push(async () => clearInterval(writing));

    const received: string[] = [];
    const done = Promise.withResolvers<void>();
    const client = createClient({ url: cut.url, token: "1|secret" });
    const subscription = client.applications.logs.follow.subscribe(
      { uuid: "a" },
      {
        onData: ({ data }) => void received.push(data.line),
        onError: (error) => done.reject(error),
        onComplete: () => done.resolve(),
      },
    );
    closing.push(async () => subscription.unsubscribe());
    await expect.poll(() => received.length).toBeGreaterThan(50);
    cut.now();
    await expect.poll(() => after.length).toBe(2);
    await expect.poll(() => received.length).toBeGreaterThan(200);
    await first.app.close();
    cut.refuse(true);
    await expect.poll(() => cut.refusals()).toBeGreaterThan(0);
    cut.refuse(false);
    await served(control, first.port);
    await done.promise;
    expect(received).toEqual(lines);
    expect(after.length).toBeGreaterThan(2);
    expect(after[0]).toBeUndefined();
  });

  it("gives up where trying again is of no use", async () => {
    const { url } = await served({});
    const failed = Promise.withResolvers<unknown>();
    createClient({ url }).applications.logs.follow.subscribe({ uuid: "a" }, { onError: failed.resolve });
    expect(problemOf(await failed.promise)?.code).toBe("auth.unauthenticated");
  });
});

async function* follow(
  lines: readonly string[],
  { after, signal }: { after: string | undefined; signal: AbortSignal },
  total: number,
) {
  for (let n = Number(after ?? 0); n < total && !signal.aborted; ) {
    const line = lines[n];
    if (line === undefined) await new Promise((resolve) => setTimeout(resolve, 5));
    else yield { cursor: String(++n), line, deployment_uuid: "d" };
  }
}

/** A proxy in front of the server that can be cut, or answer like a gateway whose server is down. */
async function gate(port: number) {
  const sockets = new Set<Socket>();
  let isRefusing = false;
  let refusals = 0;
  const server = createServer((client) => {
    if (isRefusing) {
      refusals++;
      client.resume().on("error", () => undefined);
      client.end("HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
      return;
    }
    const upstream = connect(port, "127.0.0.1");
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on("error", () => undefined);
      socket.on("close", () => {
        sockets.delete(socket);
        client.destroy();
        upstream.destroy();
      });
    }
    client.pipe(upstream).pipe(client);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const now = () => {
    for (const socket of sockets) socket.destroy();
  };
  closing.push(async () => {
    now();
    await new Promise((resolve) => server.close(resolve));
  });
  const address = server.address();
  if (typeof address !== "object" || address === null) throw new Error("The gate does not listen.");
  return {
    url: `http://127.0.0.1:${address.port}`,
    now,
    refuse: (refuses: boolean) => {
      isRefusing = refuses;
    },
    refusals: () => refusals,
  };
}
