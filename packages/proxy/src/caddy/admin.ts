import { type IncomingMessage, request } from "node:http";
import type { Duplex } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { DomainError, isDomainError } from "@berth/core";
import type { Host } from "@berth/host";
import { z } from "zod";

/**
 * Client of Caddy's admin API, over its socket on the server. Rejects with `engine.unreachable` when it does not
 * answer.
 */
export interface CaddyAdmin {
  /**
   * Loads a configuration; does nothing when it is the current one.
   * @throws DomainError `engine.failed` when Caddy refuses it and continues with the previous one.
   */
  load(config: string): Promise<void>;
  /** Whether Caddy answers, without retries. */
  isUp(): Promise<boolean>;
  /** Requests in flight by upstream address. */
  requestCounts(): Promise<ReadonlyMap<string, number>>;
}

/** @param socketPath Looked up anew where nothing answers: another control plane may have replaced the container. */
export function caddyAdmin(host: Host, socketPath: (isAnew: boolean) => Promise<string>): CaddyAdmin {
  /** Each reload replaces the socket and may cut an answer short: every request here may be sent again. */
  async function ask(question: Question): Promise<Answer> {
    let path = await socketPath(false);
    for (let attempt = 1; ; attempt++) {
      try {
        return await askOnce(host, path, question);
      } catch (error) {
        const before = path;
        if (isDomainError(error, "engine.unreachable")) path = await socketPath(true);
        const mayRepeat = path !== before || isTransient(error);
        if (attempt < ATTEMPTS_MAX && mayRepeat) await delay(attempt * 10);
        else throw unreachable(host, error);
      }
    }
  }

  return {
    async load(config) {
      const { status, text } = await ask({ method: "POST", path: "/load", body: config });
      if (status === 200) return;
      const message = `Caddy of server ${host.name} refused its routes and keeps those it had: ${reasonOf(text)}`;
      throw new DomainError("engine.failed", message);
    },
    async isUp() {
      try {
        return (await askOnce(host, await socketPath(false), { method: "GET", path: "/config/admin" })).status === 200;
      } catch {
        return false;
      }
    },
    async requestCounts() {
      const { status, text } = await ask({ method: "GET", path: "/reverse_proxy/upstreams" });
      const read = Upstreams.safeParse(status === 200 ? parsed(text) : undefined);
      if (!read.success) throw unreachable(host, new Error(`It answered with status ${status}.`));
      return new Map(read.data.map(({ address, num_requests }) => [address, num_requests]));
    },
  };
}

interface Question {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly body?: string;
}

interface Answer {
  readonly status: number;
  readonly text: string;
}

const Upstreams = z.array(z.object({ address: z.string(), num_requests: z.int() }));

async function askOnce(host: Host, socketPath: string, { method, path, body }: Question): Promise<Answer> {
  const stream = await host.connectSocket(socketPath);
  try {
    return await exchange(stream, { method, path, ...(body !== undefined && { body }) });
  } finally {
    stream.destroy();
  }
}

function exchange(stream: Duplex, { method, path, body = "" }: Question): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const headers = {
      Host: "localhost",
      Connection: "close",
      ...(body !== "" && { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(body) }),
    };
    // Without an agent, Node uses the stream for this request only.
    const sent = request({ createConnection: () => stream, method, path, headers }, (answer) => {
      clearTimeout(timer);
      readText(answer).then((text) => resolve({ status: answer.statusCode ?? 0, text }), reject);
    });
    const giveUp = () => sent.destroy(new Error(`No answer within ${ANSWER_SECONDS_MAX} seconds.`));
    const timer = setTimeout(giveUp, ANSWER_SECONDS_MAX * 1000);
    sent.once("error", (error) => {
      clearTimeout(timer);
      reject(error);
    });
    sent.end(body);
  });
}

async function readText(answer: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of answer) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

/** Whether a connection was refused or interrupted, anywhere in the chain of causes. */
function isTransient(error: unknown): boolean {
  if (isDomainError(error)) return error.code === "server.unreachable";
  return error instanceof Error && "code" in error && TRANSIENT.has(String(error.code));
}

const TRANSIENT: ReadonlySet<string> = new Set(["ECONNRESET", "ECONNREFUSED", "ENOENT", "EPIPE"]);

const unreachable = (host: Host, cause: unknown) =>
  new DomainError("engine.unreachable", `The proxy of server ${host.name} does not answer. Is its container running?`, {
    cause,
  });

function reasonOf(text: string): string {
  const read = z.object({ error: z.string() }).safeParse(parsed(text));
  return read.success ? read.data.error : text.slice(0, 500);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const ATTEMPTS_MAX = 12; // With growing pauses 0.7 s in total: a reload takes milliseconds.
const ANSWER_SECONDS_MAX = 30;
