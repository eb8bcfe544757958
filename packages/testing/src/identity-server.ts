import { createHash, createSign, generateKeyPairSync, randomBytes } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** A provider of identities on the loopback: OpenID Connect, and GitHub's OAuth with the part of its API that it takes. */
export interface IdentityServer {
  readonly url: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** Who is signed in there; may be changed. */
  person: ProviderPerson;
  /** Changes what the next ID tokens claim, or how they are signed. */
  fault: IdentityFault | undefined;
  /** `METHOD /path` of every request, in order. */
  readonly requests: readonly string[];
  /** What a browser does there: answers the URL that it is sent back to. */
  authorize(url: string): Promise<URL>;
  close(): Promise<void>;
}

export interface ProviderPerson {
  readonly sub: string;
  readonly email: string;
  readonly email_verified?: boolean;
  readonly name?: string;
  /** Claims of the provider's own, which its user information has. */
  readonly [claim: string]: unknown;
}

export type IdentityFault =
  | { readonly claims: Readonly<Record<string, unknown>> }
  | "foreign_key"
  | "denied"
  | "foreign_issuer"
  | "token_error";

interface Granted {
  readonly challenge: string;
  readonly nonce: string | null;
  readonly redirectUri: string;
  readonly person: ProviderPerson;
}

export async function identityServer(): Promise<IdentityServer> {
  const [own, foreign] = [0, 1].map(() => generateKeyPairSync("rsa", { modulusLength: 2048 }));
  const codes = new Map<string, Granted>();
  const tokens = new Map<string, ProviderPerson>();
  const requests: string[] = [];
  const state = {
    clientId: "berth-client",
    clientSecret: randomBytes(16).toString("hex"),
    person: { sub: "1001", email: "ada@example.com", email_verified: true, name: "Ada" } as ProviderPerson,
    fault: undefined as IdentityFault | undefined,
  };
  let url = "";

  const server = createServer(async (request, response) => {
    const asked = new URL(request.url ?? "/", url);
    requests.push(`${request.method} ${asked.pathname}`);
    const send = (status: number, body: unknown) =>
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    const route = ROUTES[asked.pathname];
    if (route === undefined) return send(404, {});
    await route(asked, request, response, send);
  });

  type Send = (status: number, body: unknown) => void;
  type Route = (asked: URL, request: IncomingMessage, response: ServerResponse, send: Send) => unknown;
  const ROUTES: Readonly<Record<string, Route>> = {
    "/.well-known/openid-configuration": (_asked, _request, _response, send) =>
      send(200, {
        issuer: state.fault === "foreign_issuer" ? "https://other.example" : url,
        authorization_endpoint: `${url}/authorize`,
        token_endpoint: `${url}/token`,
        userinfo_endpoint: `${url}/userinfo`,
        scopes_supported: ["openid", "email", "profile", "groups"],
        jwks_uri: `${url}/keys`,
        response_types_supported: ["code"],
        subject_types_supported: ["public"],
        id_token_signing_alg_values_supported: ["RS256"],
        code_challenge_methods_supported: ["S256"],
      }),
    "/keys": (_asked, _request, _response, send) => {
      const key = own?.publicKey.export({ format: "jwk" });
      send(200, { keys: [{ ...key, kid: "1", use: "sig", alg: "RS256" }] });
    },
    "/authorize": authorize,
    "/login/oauth/authorize": authorize,
    "/token": (_asked, request, _response, send) => grant(request, send, true),
    "/login/oauth/access_token": (_asked, request, _response, send) => grant(request, send, false),
    "/userinfo": (_asked, request, _response, send) => {
      const person = personOf(request);
      return person === undefined ? send(401, {}) : send(200, person);
    },
    "/api/v3/user": (_asked, request, _response, send) => {
      const person = personOf(request);
      if (person === undefined) return send(401, { message: "Bad credentials" });
      return send(200, { id: Number(person.sub), login: "ada", name: person.name ?? null });
    },
    "/api/v3/user/emails": (_asked, request, _response, send) => {
      const person = personOf(request);
      if (person === undefined) return send(401, { message: "Bad credentials" });
      return send(200, [
        { email: "old@example.com", primary: false, verified: true, visibility: null },
        { email: person.email, primary: true, verified: person.email_verified === true, visibility: "public" },
      ]);
    },
  };

  function authorize(asked: URL, _request: IncomingMessage, response: ServerResponse): void {
    const { redirect_uri, state: sent, code_challenge, nonce } = Object.fromEntries(asked.searchParams);
    const back = new URL(redirect_uri ?? "");
    back.searchParams.set("state", sent ?? "");
    if (state.fault === "denied") back.searchParams.set("error", "access_denied");
    else {
      const code = randomBytes(8).toString("hex");
      const granted = { challenge: code_challenge ?? "", nonce: nonce ?? null, redirectUri: redirect_uri ?? "" };
      codes.set(code, { ...granted, person: state.person });
      back.searchParams.set("code", code);
    }
    response.writeHead(302, { location: back.href }).end();
  }

  async function grant(request: IncomingMessage, send: Send, hasIdToken: boolean): Promise<void> {
    const body = new URLSearchParams(await textOf(request));
    const code = body.get("code") ?? "";
    const granted = codes.get(code);
    codes.delete(code);
    const challenge = createHash("sha256")
      .update(body.get("code_verifier") ?? "")
      .digest("base64url");
    const isRight =
      granted !== undefined && granted.challenge === challenge && granted.redirectUri === body.get("redirect_uri");
    if (!isClient(request, body)) return send(401, { error: "invalid_client" });
    // GitHub reports errors with the status of success.
    if (!isRight || state.fault === "token_error") {
      return send(hasIdToken ? 400 : 200, { error: hasIdToken ? "invalid_grant" : "bad_verification_code" });
    }
    const access_token = randomBytes(8).toString("hex");
    tokens.set(access_token, granted.person);
    const answer = { access_token, token_type: "bearer", scope: "openid" };
    send(200, hasIdToken ? { ...answer, expires_in: 300, id_token: idToken(granted) } : answer);
  }

  function isClient({ headers: { authorization = "" } }: IncomingMessage, body: URLSearchParams): boolean {
    const [id, secret] = authorization.startsWith("Basic ")
      ? Buffer.from(authorization.slice(6), "base64").toString().split(":").map(decodeURIComponent)
      : [body.get("client_id"), body.get("client_secret")];
    return id === state.clientId && secret === state.clientSecret;
  }

  function idToken({ nonce, person }: Granted): string {
    const now = Math.floor(Date.now() / 1000);
    const changed = typeof state.fault === "object" ? state.fault.claims : {};
    const claims = { iss: url, aud: state.clientId, sub: person.sub, iat: now, exp: now + 300, nonce, ...changed };
    const signed = [{ alg: "RS256", typ: "JWT", kid: "1" }, claims].map(asBase64).join(".");
    const key = state.fault === "foreign_key" ? foreign : own;
    const signature = createSign("RSA-SHA256")
      .update(signed)
      .sign(key?.privateKey ?? "");
    return `${signed}.${signature.toString("base64url")}`;
  }

  const personOf = ({ headers: { authorization = "" } }: IncomingMessage) =>
    tokens.get(authorization.replace(/^(bearer|token) /i, ""));

  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  // It listens on a port, not on a pipe.
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return Object.assign(state, {
    url,
    requests,
    async authorize(at: string): Promise<URL> {
      const { headers } = await fetch(at, { redirect: "manual" });
      return new URL(headers.get("location") ?? "");
    },
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  });
}

const asBase64 = (part: object): string => Buffer.from(JSON.stringify(part)).toString("base64url");

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}
