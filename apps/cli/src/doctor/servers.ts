import type { Client } from "../connection/api.ts";
import { type Finding, ok, problem, warning } from "./finding.ts";

type Server = Awaited<ReturnType<Client["servers"]["list"]["query"]>>[number];

/**
 * Checks whether each server is reachable and usable, has free disk space, and runs its proxy.
 * @param routed Uuids of servers that URLs point to: only these need a proxy.
 * @param proxyProblems Why a proxy is not as it should be, by the uuid of its server.
 */
export const checkServers = (
  servers: readonly Server[],
  routed: ReadonlySet<string>,
  proxyProblems: ReadonlyMap<string, string | null>,
): readonly Finding[] =>
  servers.flatMap((server) =>
    checkServer(server, routed.has(server.uuid), proxyProblems.get(server.uuid) ?? undefined),
  );

function checkServer(server: Server, isRouted: boolean, proxyProblem: string | undefined): readonly Finding[] {
  const { name, uuid, engine, proxy, settings, validation_logs } = server;
  const subject = `server ${name}`;
  const validate = `Check again with berth servers validate ${name}.`;
  if (!settings.is_usable) return [problem(subject, validation_logs ?? "It cannot be used.", validate)];
  if (!settings.is_reachable) return [problem(subject, "It does not answer.", validate)];
  const findings = [ok(subject, `answers (${engine})`)];
  if (server.high_disk_usage_notification_sent) {
    const remedy = `Free space, such as by berth servers clean-up ${uuid}.`;
    findings.push(warning(subject, "Its disk is fuller than its threshold allows.", remedy));
  }
  if (isRouted && proxy !== null && proxy.type !== "NONE" && proxy.status !== "running") {
    const remedy = `Start it with berth api POST /servers/${uuid}/proxy/start.`;
    const why = proxyProblem === undefined ? "" : ` ${proxyProblem}`;
    findings.push(problem(subject, `Its proxy (${proxy.type}) is ${proxy.status}: URLs do not answer.${why}`, remedy));
  } else if (proxyProblem !== undefined) {
    const remedy = `Once that is mended, Berth tries it again within minutes, or at once with berth server-proxies restart ${uuid}.`;
    findings.push(warning(subject, `Its proxy is not as it should be. ${proxyProblem}`, remedy));
  }
  return findings;
}
