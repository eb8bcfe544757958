import type { TestServer } from "../apps/server/e2e/server.fixture.ts";

/** Connections as those of open pages: signed in by a session, following what the overview follows. */
export interface OpenTabs {
  /** Number of tabs whose streams have all begun. */
  live(): number;
  close(): void;
}

/** As tRPC's client in a page. */
const PING_SECONDS = 5;
const STREAMS = ["events.follow", "resources.usage.follow"] as const;

export async function openTabs(server: TestServer, count: number): Promise<OpenTabs> {
  const { key, cookie } = await session(server);
  const started = new Map<number, Set<number>>();
  const sockets: WebSocket[] = [];
  const pings = setInterval(() => {
    for (const socket of sockets) if (socket.readyState === WebSocket.OPEN) socket.send("PING");
  }, PING_SECONDS * 1000);
  for (let tab = 0; tab < count; tab += 1) {
    const url = `${server.url.replace(/^http/, "ws")}/trpc?connectionParams=1`;
    // Node's own option: a page's cookie and origin come from the browser.
    const options: object = { headers: { cookie, origin: server.url } };
    const socket = new WebSocket(url, options as unknown as string[]);
    const streams = new Set<number>();
    started.set(tab, streams);
    socket.addEventListener("open", () => {
      socket.send(JSON.stringify({ method: "connectionParams", data: { session_key: key } }));
      for (const [id, path] of STREAMS.entries())
        socket.send(JSON.stringify({ id, method: "subscription", params: { path, input: {} } }));
    });
    socket.addEventListener("message", ({ data }) => {
      if (data === "PING") return socket.send("PONG");
      if (data === "PONG") return;
      const { id, result } = JSON.parse(String(data)) as { id?: number; result?: { type?: string } };
      if (id !== undefined && result?.type === "started") streams.add(id);
    });
    sockets.push(socket);
  }
  return {
    live: () => [...started.values()].filter((streams) => streams.size === STREAMS.length).length,
    close: () => {
      clearInterval(pings);
      for (const socket of sockets) socket.close();
    },
  };
}

async function session(server: TestServer): Promise<{ readonly key: string; readonly cookie: string }> {
  const { code } = await server.client.auth.createLink.mutate({});
  const answer = await fetch(`${server.url}/api/v1/auth/links/redeem`, {
    method: "POST",
    headers: { "content-type": "application/json", origin: server.url },
    body: JSON.stringify({ code, password: "a good long passphrase" }),
  });
  const { key } = (await answer.json()) as { key: string };
  const cookie = answer.headers
    .getSetCookie()
    .map((one) => one.split(";")[0])
    .join("; ");
  if (!answer.ok) throw new Error(`The sign-in answers ${answer.status}.`);
  return { key, cookie };
}
