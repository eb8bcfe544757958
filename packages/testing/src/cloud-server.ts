import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** A cloud provider's API on loopback. */
export interface CloudServer {
  /** Base URL without a trailing slash. */
  readonly url: string;
  /** All received requests, in order. */
  readonly requests: readonly CloudRequest[];
  /** Faults for the next requests of this kind, such as `POST /servers`, one per request. */
  fail(request: string, ...faults: readonly CloudFault[]): void;
  close(): Promise<void>;
}

export interface CloudRequest {
  /** Method and path, such as `GET /locations`. */
  readonly name: string;
  readonly query: Readonly<Record<string, string>>;
  readonly body: unknown;
  readonly token: string | undefined;
}

export interface CloudAnswer {
  readonly status: number;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export type CloudFault =
  /** Returns this answer instead of acting. */
  | (CloudAnswer & { readonly kind: "answer" })
  /** Returns this text with status 200 instead of acting. */
  | { readonly kind: "garbage"; readonly text: string }
  /** Acts, and sends half of the answer. */
  | { readonly kind: "garbled" }
  /** Neither acts nor answers. */
  | { readonly kind: "silent" }
  /** Does not act, and closes the connection. */
  | { readonly kind: "cut" }
  /** Acts, and closes the connection before the answer. */
  | { readonly kind: "lost" }
  /** Sends an endless answer. */
  | { readonly kind: "flood" };

/** @param answerTo Implements the provider's operations. */
export async function startCloudServer(answerTo: (request: CloudRequest) => CloudAnswer): Promise<CloudServer> {
  const requests: CloudRequest[] = [];
  const faults = new Map<string, CloudFault[]>();
  const server = createServer(async (incoming, response) => {
    const request = await read(incoming);
    requests.push(request);
    const fault = faults.get(request.name)?.shift();
    if (fault === undefined) send(response, answerTo(request));
    else misbehave(fault, response, () => answerTo(request));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo; // A TCP server's address is an object.
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    fail(name, ...added) {
      faults.set(name, [...(faults.get(name) ?? []), ...added]);
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function read(incoming: IncomingMessage): Promise<CloudRequest> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString("utf8");
  const url = new URL(incoming.url ?? "/", "http://server");
  return {
    name: `${incoming.method} ${url.pathname}`,
    query: Object.fromEntries(url.searchParams),
    body: text === "" ? undefined : JSON.parse(text),
    token: /^Bearer (.+)$/.exec(incoming.headers.authorization ?? "")?.[1],
  };
}

function send(response: ServerResponse, { status, body, headers = {} }: CloudAnswer): void {
  response.writeHead(status, { "content-type": "application/json; charset=utf-8", ...headers });
  response.end(body === undefined ? "" : JSON.stringify(body));
}

function misbehave(fault: CloudFault, response: ServerResponse, work: () => CloudAnswer): void {
  switch (fault.kind) {
    case "answer":
      send(response, fault);
      break;
    case "garbage":
      response.writeHead(200).end(fault.text);
      break;
    case "garbled":
      work();
      response.writeHead(201).end('{"half":');
      break;
    case "silent":
      break;
    case "cut":
      response.destroy();
      break;
    case "lost":
      work();
      response.destroy();
      break;
    case "flood":
      flood(response);
      break;
  }
}

function flood(response: ServerResponse): void {
  response.writeHead(200, { "content-type": "application/json" });
  const chunk = Buffer.alloc(1 << 20, " ");
  const more = () => {
    while (!response.destroyed && response.write(chunk));
  };
  response.on("drain", more);
  more();
}
