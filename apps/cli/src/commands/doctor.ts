import type { Command } from "commander";
import type { Bind } from "../command-module.ts";
import type { Api } from "../connection/api.ts";
import { checkDomains, openedUrls } from "../doctor/domains.ts";
import { type Finding, problem } from "../doctor/finding.ts";
import { checkInstance, checkLastFailure } from "../doctor/instance.ts";
import { checkMachine } from "../doctor/machine.ts";
import { checkServers } from "../doctor/servers.ts";
import { EXIT, type ExitCode } from "../failure.ts";
import { printableLine } from "../printable.ts";
import type { Session } from "../session.ts";

export function define(command: Command, bind: Bind): void {
  command.description("Find problems, and show how to solve them. Exits with 1 when there is a problem.");
  command.action(bind(doctor));
}

async function doctor(session: Session): Promise<ExitCode> {
  const { output } = session;
  const api = await session.connect();
  const instance = await checkInstance(api.connection);
  const findings = [
    ...instance.findings,
    ...(await checkLastFailure(api.connection)),
    ...(await checkOwnMachine(session, api)),
    ...(instance.isAnswering ? await checkResources(api).catch((error: unknown) => [unread(error)]) : []),
  ];
  output.show(findings, () => {
    for (const finding of findings) show(session, finding);
    output.line(summaryOf(findings));
  });
  return findings.some(({ state }) => state === "problem") ? EXIT.failed : EXIT.ok;
}

/** Skipped unless the server runs on this machine. */
async function checkOwnMachine({ system: { env } }: Session, { connection }: Api): Promise<readonly Finding[]> {
  const { dataFolder } = connection;
  return dataFolder === undefined ? [] : await checkMachine({ dataFolder, env });
}

async function checkResources({ client }: Api): Promise<readonly Finding[]> {
  const [servers, applications, services] = await Promise.all([
    client.servers.list.query({}),
    client.applications.list.query({}),
    client.services.list.query({}),
  ]);
  const routed = new Set([...applications, ...services].flatMap(({ server_uuid }) => server_uuid ?? []));
  return [
    ...checkServers(servers, routed, await proxyProblems(client, servers)),
    ...applications.flatMap(unanswered),
    ...(await checkDomains(openedUrls(applications, services))),
  ];
}

async function proxyProblems(client: Api["client"], servers: Parameters<typeof checkServers>[0]) {
  const asked = servers.filter(({ proxy, settings }) => settings.is_usable && proxy !== null && proxy.type !== "NONE");
  const details = asked.map(
    async ({ uuid }) => [uuid, (await client.serverProxies.get.query({ uuid })).problem] as const,
  );
  return new Map(await Promise.all(details));
}

const unanswered = ({ name, url_problem }: { readonly name: string; readonly url_problem: string | null }) =>
  url_problem === null ? [] : [problem(`application ${name}`, url_problem, "Then look again with berth doctor.")];

const unread = (error: unknown): Finding =>
  problem(
    "resources",
    `Servers and applications cannot be read: ${error instanceof Error ? error.message : String(error)}`,
    "Use a token with the ability read.",
  );

function show({ output }: Session, { subject, state, message, remedy }: Finding): void {
  const { colors } = output;
  const mark = { ok: colors.green("ok"), warning: colors.yellow("warning"), problem: colors.red("problem") }[state];
  output.line(`${mark}${" ".repeat(9 - state.length)}${printableLine(`${subject}: ${message}`, false)}`);
  if (remedy !== undefined) output.line(`${" ".repeat(9)}${colors.dim(printableLine(remedy, false))}`);
}

function summaryOf(findings: readonly Finding[]): string {
  const count = (state: Finding["state"]) => findings.filter((finding) => finding.state === state).length;
  const [problems, warnings] = [count("problem"), count("warning")];
  if (problems + warnings === 0) return `\nEverything that was checked works (${findings.length} checks).`;
  const counted = (number: number, noun: string) => `${number} ${noun}${number === 1 ? "" : "s"}`;
  return `\n${counted(problems, "problem")}, ${counted(warnings, "warning")} of ${findings.length} checks.`;
}
