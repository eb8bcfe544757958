import { ROOT_TEAM_ID, type Role } from "@berth/core/team";
import { testUuid } from "@berth/testing";
import type { Served } from "./berth.fixture.ts";

export const PASSWORD = "correct horse battery";
const HOST = "berth.test";

/** Headers of a browser on a page of the dashboard. */
export const OWN_PAGE = { host: HOST, origin: `http://${HOST}`, "sec-fetch-site": "same-origin" };

export interface TestBrowser {
  /** Headers of a request from its page. */
  readonly headers: Readonly<Record<string, string>>;
  ask(method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE", path: string, body?: object): Promise<BrowserAnswer>;
}

interface BrowserAnswer {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: tests say themselves what an answer's body should hold.
  readonly json: any;
  readonly headers: Readonly<Record<string, unknown>>;
}

/** Calls REST as a page would. */
export async function request(
  { app }: Pick<Served, "app">,
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE",
  path: string,
  { headers = OWN_PAGE, body }: { readonly headers?: object; readonly body?: object | undefined } = {},
): Promise<BrowserAnswer> {
  const response = await app.inject({
    method,
    url: path.startsWith("/trpc") ? path : `/api/v1${path}`,
    headers: { ...headers, ...(body === undefined ? {} : { "content-type": "application/json" }) },
    ...(body === undefined ? {} : { payload: JSON.stringify(body) }),
  });
  const json = response.body === "" ? undefined : JSON.parse(response.body);
  return { status: response.statusCode, json, headers: response.headers };
}

export const cookieOf = ({ headers }: Pick<BrowserAnswer, "headers">): string =>
  String(headers["set-cookie"]).split(";", 1)[0] ?? "";

/** A browser with the session of a sign-in. */
export function browserOf(api: Pick<Served, "app">, signedIn: BrowserAnswer): TestBrowser {
  if (signedIn.status !== 201) throw new Error(`Nobody was signed in: ${JSON.stringify(signedIn.json)}`);
  const headers = { ...OWN_PAGE, cookie: cookieOf(signedIn), "x-berth-session-key": signedIn.json.key };
  return { headers, ask: (method, path, body) => request(api, method, path, { headers, body }) };
}

/** A new user with a password, who has joined the team. */
export async function person(api: Served, role: Role = "owner", teamId = api.place.server.team_id) {
  const email = `${testUuid()}@example.com`;
  const { id } = await api.db.stores(ROOT_TEAM_ID).members.insert(teamId, { email, name: "Ada", role });
  const link = await api.ask("POST", `/teams/${teamId}/members/${id}/sign-in-link`, { token: api.rootToken });
  const signedIn = await request(api, "POST", "/auth/links/redeem", {
    body: { code: link.json.code, password: PASSWORD },
  });
  return { id, email, teamId, browser: browserOf(api, signedIn) };
}

export const signIn = (api: Pick<Served, "app">, email: string, password = PASSWORD, headers: object = OWN_PAGE) =>
  request(api, "POST", "/auth/sign-in", { headers, body: { email, password } });
