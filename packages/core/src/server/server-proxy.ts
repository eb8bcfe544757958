import { z } from "zod";
import type { ManagedProxyStatus, ProxyType, SeenProxyStatus } from "../ports/proxy.ts";
import type { ServerRecord } from "../ports/records.ts";
import { PROXY_STATUSES, type ProxyStatus } from "./proxy-status.ts";
import { PROXY_SETTABLE, ServerUpdate } from "./server-input.ts";
import { ENGINES } from "./server-settings.ts";

export const proxyStatusOf = ({ state }: Pick<ManagedProxyStatus, "state">): ProxyStatus =>
  state === "absent" ? "exited" : state;

/** What is wrong with a proxy that is not stopped. One that is absent is started with the first site. */
export function proxyProblemOf({ state, problem }: Pick<SeenProxyStatus, "state" | "problem">): string | null {
  if (problem !== undefined) return problem;
  if (state === "restarting") return "The proxy's container ends again and again. Its log says why.";
  return state === "starting" ? "The proxy's container runs, and does not answer yet." : null;
}

/** As it was seen last; before the first look, as it will be once it is needed. */
export function shownProxyStatus(
  server: Pick<ServerRecord, "proxy_type" | "proxy_status" | "is_proxy_stopped" | "settings">,
): ProxyStatus {
  const isOn = server.proxy_type.toUpperCase() !== "NONE" && server.settings.is_usable && !server.is_proxy_stopped;
  return isOn ? (server.proxy_status ?? "running") : "exited";
}

/** Whether URLs can be routed to the server's resources. Without Docker, Berth itself is the proxy. */
export const hasProxy = ({ engine, proxy_type, settings }: Pick<ServerRecord, "engine" | "proxy_type" | "settings">) =>
  !settings.is_build_server && (!ENGINES[engine].hasContainers || proxy_type.toUpperCase() !== "NONE");

/** Whether the server's proxy counts answered requests, see `Site.isCounted`. */
export const countsAnswers = ({ proxy_type }: Pick<ServerRecord, "proxy_type">): boolean =>
  COUNTING_PROXIES.has(proxy_type.toUpperCase());

const COUNTING_PROXIES: ReadonlySet<string> = new Set<ProxyType>(["CADDY"]);

type ProxyState = Pick<ServerRecord, "uuid" | "name" | "engine" | "proxy_type" | "is_proxy_stopped">;

/** Why no URL is answered by the proxy that the record of a server asks for, and what to do. */
export function proxyProblem({ uuid, name, engine, proxy_type, is_proxy_stopped }: ProxyState): string | undefined {
  if (ENGINES[engine].hasContainers && proxy_type.toUpperCase() === "NONE") {
    return `Server ${name} has no proxy. Choose one: berth server-proxies update ${uuid} --proxy-type caddy`;
  }
  return is_proxy_stopped
    ? `The proxy of server ${name} is stopped. Start it: berth server-proxies start ${uuid}`
    : undefined;
}

export const ServerProxyDetails = z
  .object({
    proxy_type: z.string().nullable(),
    status: z.enum(PROXY_STATUSES).nullable(),
    problem: z
      .string()
      .nullable()
      .describe("Why it does not run, or does not have its routes. Null without a problem."),
    is_stopped: z.boolean().describe("It was stopped on request, and starts only on request."),
    redirect_enabled: z.boolean(),
    redirect_url: z.string().nullable().describe("Where requests for names that nothing has are redirected to."),
    generate_exact_labels: z.boolean().describe("Kept for clients: Berth puts no label on a container for a proxy."),
    configuration: z.string().nullable().describe("Always null: Berth writes the configuration itself."),
  })
  .meta({ id: "ServerProxyDetails", description: "The proxy of a server, and whether it runs." });
export type ServerProxyDetails = z.infer<typeof ServerProxyDetails>;

export const serverProxyView = (server: ServerRecord): ServerProxyDetails => ({
  proxy_type: server.proxy_type.toLowerCase(),
  status: shownProxyStatus(server),
  problem: server.proxy_problem,
  is_stopped: server.is_proxy_stopped,
  redirect_enabled: server.settings.redirect_enabled,
  redirect_url: server.settings.redirect_url,
  generate_exact_labels: server.settings.generate_exact_labels,
  configuration: null,
});

interface RedirectRecord {
  readonly settings: Pick<ServerRecord["settings"], "redirect_enabled" | "redirect_url">;
}

/** Where the proxy of a server sends requests for names that nothing has. `undefined`: they are answered with 404. */
export const redirectUrlOf = ({ settings }: RedirectRecord): string | undefined =>
  settings.redirect_enabled ? (settings.redirect_url ?? undefined) : undefined;

export const ServerProxyUpdate = ServerUpdate.pick({ proxy_type: true }).extend(PROXY_SETTABLE);
export type ServerProxyUpdate = z.infer<typeof ServerProxyUpdate>;
