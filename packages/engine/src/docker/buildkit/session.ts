import { performServerHandshake, type ServerHttp2Session } from "node:http2";
import { registryAddress } from "@berth/core/server";
import type { RegistryLogins } from "@berth/docker-client";
import { type SharedFolder, sendFiles } from "./file-sync.ts";
import { GRPC_CODES, GrpcError, type Handler, handler, refuse, unary } from "./grpc.ts";
import {
  CredentialsRequest,
  CredentialsResponse,
  GetSecretRequest,
  GetSecretResponse,
  HealthCheckRequest,
  HealthCheckResponse,
  Packets,
} from "./messages.ts";
import { type EnginePlace, upgradeToHttp2 } from "./upgrade.ts";

/** Files and secrets that an engine may request during a build. It gets only what it requests. */
export interface SessionOffer {
  readonly folders: Readonly<Record<string, SharedFolder>>;
  /** Build secrets by their id. */
  readonly secrets: ReadonlyMap<string, Uint8Array>;
  readonly logins: RegistryLogins;
}

export interface Session {
  readonly id: string;
  /** Whether the connection ended before `close`, or was damaged: the build then fails with unrelated messages. */
  isLost(): boolean;
  /** Idempotent. */
  close(): void;
}

/**
 * A connection on which the engine sends requests and Berth answers.
 * https://github.com/moby/buildkit/tree/master/session
 */
export async function openSession(
  place: EnginePlace,
  id: string,
  offer: SessionOffer,
  signal: AbortSignal,
): Promise<Session> {
  const handlers = new Map(handlersOf(offer).map((one) => [one.path, one]));
  const socket = await upgradeToHttp2(
    place,
    "/session",
    {
      "X-Docker-Expose-Session-Uuid": id,
      "X-Docker-Expose-Session-Name": "berth",
      // The key separates cached files by source, since files of two commits may look alike.
      "X-Docker-Expose-Session-Sharedkey": id,
      "X-Docker-Expose-Session-Grpc-Method": [...handlers.keys()],
    },
    signal,
  );
  const session = performServerHandshake(socket);
  let [isClosed, isDamaged] = [false, false];
  serve(session, handlers, () => {
    isDamaged = true;
  });
  return {
    id,
    isLost: () => isDamaged || (!isClosed && (session.destroyed || socket.destroyed)),
    close: () => {
      isClosed = true;
      session.destroy();
    },
  };
}

function serve(session: ServerHttp2Session, handlers: ReadonlyMap<string, Handler>, onDamage: () => void): void {
  // Ignored: the build reports a broken connection itself.
  session.on("error", () => undefined);
  session.on("stream", (stream, headers, _flags, rawHeaders) => {
    const found = handlers.get(headers[":path"] ?? "");
    if (found === undefined) refuse(stream);
    else found.handle(stream, rawHeaders).catch(onDamage);
  });
}

function handlersOf({ folders, secrets, logins }: SessionOffer): Handler[] {
  return [
    unary({ path: "/grpc.health.v1.Health/Check", request: HealthCheckRequest, response: HealthCheckResponse }, () => ({
      status: SERVING,
    })),
    unary(
      { path: "/moby.buildkit.secrets.v1.Secrets/GetSecret", request: GetSecretRequest, response: GetSecretResponse },
      ({ ID }) => {
        const data = secrets.get(ID);
        if (data === undefined) throw new GrpcError(GRPC_CODES.notFound, `secret ${ID} not found`);
        return { data };
      },
    ),
    unary(
      { path: "/moby.filesync.v1.Auth/Credentials", request: CredentialsRequest, response: CredentialsResponse },
      ({ Host }) => {
        const login = logins.get(registryAddress(Host));
        return { Username: login?.username ?? "", Secret: login?.password ?? "" };
      },
    ),
    handler({ path: "/moby.filesync.v1.FileSync/DiffCopy", request: Packets, response: Packets }, (call) =>
      sendFiles(call, folders),
    ),
  ];
}

const SERVING = 1;
