import { DomainError } from "@berth/core";
import type { IdentityProviders, ProviderAttempt, ProviderIdentity, ProviderLogin } from "@berth/core/ports";
import { guardedFetch, HttpFault, type PrivateHosts } from "@berth/host";
import * as client from "openid-client";
import { z } from "zod";
import { githubIdentity, githubServer } from "./github.ts";

export interface IdentityProviderOptions {
  readonly allowedPrivateHosts: PrivateHosts;
  /** For one call; a sign-in takes several. */
  readonly secondsMax?: number;
}

const BYTES_MAX = 1_000_000;
const METADATA_MINUTES = 10;
/** Short: an operator who corrects the provider tries again. */
const FAILURE_SECONDS = 15;

/** OpenID Connect, and GitHub, which speaks OAuth alone. */
export function identityProviders({
  allowedPrivateHosts,
  secondsMax = 20,
}: IdentityProviderOptions): IdentityProviders {
  const fetch = guardedFetch({ allowedPrivateHosts, secondsMax, bytesMax: BYTES_MAX });
  const guarded: client.CustomFetch = async (url, { body, headers, method, redirect, signal }) => {
    const sent = body === undefined || body === null ? {} : { body: bodyText(body) };
    const answer = await fetch(url, { ...sent, headers, method, redirect, ...(signal && { signal }) });
    return new Response(await answer.arrayBuffer(), { status: answer.status, headers: [...answer.headers] });
  };
  const known = new Map<string, { until: number; readonly server: Promise<client.ServerMetadata> }>();

  /** Anybody may begin a sign-in, so an issuer is asked once for all who do, also if it fails or does not answer. */
  function discovered(login: ProviderLogin): Promise<client.ServerMetadata> {
    const found = known.get(login.issuer);
    if (found !== undefined && found.until > Date.now()) return found.server;
    const asked = { until: Number.POSITIVE_INFINITY, server: discover(login) };
    known.set(login.issuer, asked);
    asked.server.then(
      () => {
        asked.until = Date.now() + METADATA_MINUTES * 60_000;
      },
      () => {
        asked.until = Date.now() + FAILURE_SECONDS * 1000;
      },
    );
    return asked.server;
  }

  async function discover({ issuer, client_id }: ProviderLogin): Promise<client.ServerMetadata> {
    const options = { [client.customFetch]: guarded, execute: isPlain(issuer) ? [client.allowInsecureRequests] : [] };
    return (await client.discovery(new URL(issuer), client_id, undefined, undefined, options)).serverMetadata();
  }

  async function configured(login: ProviderLogin): Promise<client.Configuration> {
    const isGithub = login.kind === "github";
    const server = isGithub ? githubServer(login.issuer) : await discovered(login);
    const methods = server.token_endpoint_auth_methods_supported;
    const usesPost = isGithub || methods?.includes("client_secret_post") === true;
    const authentication = (usesPost ? client.ClientSecretPost : client.ClientSecretBasic)(login.client_secret);
    const configuration = new client.Configuration(server, login.client_id, undefined, authentication);
    configuration[client.customFetch] = guarded;
    if (isPlain(login.issuer)) client.allowInsecureRequests(configuration);
    // The signature of the ID token, too, beside the connection that it comes by.
    if (!isGithub) client.enableNonRepudiationChecks(configuration);
    return configuration;
  }

  return {
    authorizationUrl: (login, { redirectUri, state, nonce, verifier }) =>
      explained(login, async () => {
        const configuration = await configured(login);
        const isGithub = login.kind === "github";
        const url = client.buildAuthorizationUrl(configuration, {
          redirect_uri: redirectUri,
          scope: isGithub ? "read:user user:email" : scopeOf(login, configuration.serverMetadata()),
          state,
          code_challenge: await client.calculatePKCECodeChallenge(verifier),
          code_challenge_method: "S256",
          ...(isGithub ? {} : { nonce }),
        });
        return url.href;
      }),

    identity: (login, attempt, query) =>
      explained(login, async () => {
        const configuration = await configured(login);
        return login.kind === "github"
          ? githubIdentity(configuration, login.issuer, await granted(configuration, attempt, query, false))
          : oidcIdentity(login, configuration, await granted(configuration, attempt, query, true));
      }),
  };
}

const isPlain = (issuer: string): boolean => issuer.startsWith("http:");

function bodyText(body: client.FetchBody): string {
  if (typeof body === "string" || body instanceof URLSearchParams) return String(body);
  throw new TypeError("A body of another form is never sent here.");
}

type Tokens = client.TokenEndpointResponse & client.TokenEndpointResponseHelpers;

function granted(
  configuration: client.Configuration,
  { redirectUri, state, nonce, verifier }: ProviderAttempt,
  query: string,
  hasIdToken: boolean,
): Promise<Tokens> {
  const url = new URL(redirectUri);
  url.search = query;
  return client.authorizationCodeGrant(configuration, url, {
    expectedState: state,
    pkceCodeVerifier: verifier,
    ...(hasIdToken && { expectedNonce: nonce, idTokenExpected: true }),
  });
}

/** Claims that are missing, or have another form, are as if the provider did not say them. */
const Claims = z.object({
  email: z.email().toLowerCase().optional().catch(undefined),
  email_verified: z.literal(true).optional().catch(undefined),
  name: z.string().max(255).optional().catch(undefined),
});

async function oidcIdentity(
  login: ProviderLogin,
  configuration: client.Configuration,
  tokens: Tokens,
): Promise<ProviderIdentity> {
  const claims = tokens.claims();
  if (claims === undefined) throw new TypeError("The provider sent no ID token.");
  const { sub: subject } = claims;
  const isWhole = "email" in claims && (!asksForGroups(login) || claimAt(claims, login.groups_claim) !== undefined);
  const isAsked = !isWhole && configuration.serverMetadata().userinfo_endpoint !== undefined;
  const info = isAsked ? await client.fetchUserInfo(configuration, tokens.access_token, subject) : {};
  const { email, email_verified, name } = Claims.parse("email" in claims ? claims : { ...claims, ...info });
  return {
    subject,
    email: (email_verified && email) ?? null,
    name: name ?? null,
    groups: asksForGroups(login) ? groupsIn({ ...info, ...claims }, login.groups_claim) : [],
  };
}

const asksForGroups = ({ group_roles }: ProviderLogin): boolean => group_roles.length > 0;

/** Some providers list groups only to who asks for them by a scope of the name. */
function scopeOf(login: ProviderLogin, { scopes_supported = [] }: client.ServerMetadata): string {
  const needsScope = asksForGroups(login) && scopes_supported.includes("groups");
  return needsScope ? "openid email profile groups" : "openid email profile";
}

/** A claim of that name, else of that path. */
function claimAt(claims: Readonly<Record<string, unknown>>, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name];
  return name
    .split(".")
    .reduce<unknown>((value, key) => (isRecord(value) && Object.hasOwn(value, key) ? value[key] : undefined), claims);
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null;

/** One text is a group too. A person without the claim is in no group, unless the provider says that they are too many. */
function groupsIn(claims: Readonly<Record<string, unknown>>, name: string): readonly string[] | null {
  const { _claim_names: elsewhere } = claims;
  if (isRecord(elsewhere) && Object.hasOwn(elsewhere, name)) return null;
  return [claimAt(claims, name)].flat().filter((group) => typeof group === "string");
}

/** What went wrong, without what the provider wrote: that may be anything. */
async function explained<Result>({ name }: ProviderLogin, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (cause) {
    throw new DomainError("auth.provider_failed", `The sign-in at ${name} failed: ${reasonOf(cause)}`, { cause });
  }
}

function reasonOf(error: unknown): string {
  const fault = [error, error instanceof Error ? error.cause : undefined].find((one) => one instanceof HttpFault);
  if (fault instanceof HttpFault) return fault.message;
  const code = typeof error === "object" && error !== null && "error" in error ? error.error : undefined;
  if (code === "access_denied") return "you did not allow it there. Begin again.";
  if (typeof code === "string" && /^[a-z_]{1,40}$/.test(code)) {
    return `it answered ${code}. Check the client id and secret that it was registered with.`;
  }
  return "its answer was not accepted. Begin again, or check the provider's settings.";
}
