import { join } from "node:path";
import { VERSION } from "@berth/core";
import { z } from "zod";
import type { Connection } from "../connection/resolve.ts";
import { readJsonFile } from "../private-file.ts";
import { type Finding, ok, problem, warning } from "./finding.ts";

const Ready = z.object({ checks: z.record(z.string(), z.string()) });

export interface InstanceFindings {
  readonly findings: readonly Finding[];
  /** Whether other checks can be made. */
  readonly isAnswering: boolean;
}

/** Checks that the control plane answers, its clock and version are right, and its parts work. */
export async function checkInstance({ url, token }: Connection): Promise<InstanceFindings> {
  const sentAt = Date.now();
  const answer = await fetch(`${url}/health/ready`, { signal: AbortSignal.timeout(TIMEOUT_MS) }).catch(() => undefined);
  if (answer === undefined) {
    const remedy = "Start it with npm start, or choose another with berth context use.";
    return silent(`Nothing answers at ${url}.`, remedy);
  }
  const ready = Ready.safeParse(await answer.json().catch(() => undefined)).data;
  if (ready === undefined) return silent(`${url} is not a Berth server.`, "Log in with berth login URL.");
  const parts = Object.entries(ready.checks).map(([part, found]) =>
    found === "ok" ? ok(part, "works") : problem(part, found, REMEDIES[part] ?? "Read the server's log."),
  );
  const findings = [await versionOf(url, token), clockOf(answer, sentAt), ...parts];
  return { findings, isAnswering: true };
}

const silent = (message: string, remedy: string): InstanceFindings => ({
  findings: [problem("Berth", message, remedy)],
  isAnswering: false,
});

async function versionOf(url: string, token: string): Promise<Finding> {
  const headers = { authorization: `Bearer ${token}` };
  const answer = await fetch(`${url}/api/v1/version`, { headers, signal: AbortSignal.timeout(TIMEOUT_MS) });
  const text = (await answer.text()).trim();
  if (answer.status === 401) return problem("token", "The token is not valid.", `Log in with berth login ${url}.`);
  if (!answer.ok) return problem("Berth", `It answers ${answer.status} to its version.`, "Read the server's log.");
  const message = `version ${text}, this program ${VERSION}`;
  return text === VERSION ? ok("Berth", message) : warning("Berth", message, "Use the program of the same version.");
}

function clockOf({ headers }: Response, sentAt: number): Finding {
  const seconds = Math.round((Date.parse(headers.get("date") ?? "") - sentAt) / 1000);
  if (Number.isNaN(seconds) || Math.abs(seconds) <= CLOCK_SECONDS_MAX) return ok("clock", "agrees with this machine");
  const message = `The server's clock is ${Math.abs(seconds)} s ${seconds > 0 ? "ahead of" : "behind"} this machine's.`;
  return warning("clock", message, "Synchronise both by NTP: schedules and certificates depend on it.");
}

const LastFailure = z.object({ ended_at: z.iso.datetime(), reason: z.string() });

/** The last crash of a server on this machine, if its report can be read. */
export async function checkLastFailure({ dataFolder }: Connection): Promise<readonly Finding[]> {
  if (dataFolder === undefined) return [];
  const file = join(dataFolder, "last-failure.json");
  const failure = await readJsonFile(file, LastFailure).catch(() => undefined);
  if (failure === undefined || Date.now() - Date.parse(failure.ended_at) > RECENT_MS) return [];
  const message = `It ended unexpectedly at ${failure.ended_at}: ${failure.reason}.`;
  return [warning("last end", message, `Read the report in ${file}.`)];
}

const REMEDIES: Readonly<Record<string, string>> = {
  database: "Check that PostgreSQL runs and that Berth can connect to it.",
  disk: "Free space on the disk of the data folder, such as by deleting old backups.",
  proxy: "Wait a moment: it is started again by itself. Else read the server's log.",
  applications: "Read the server's log: it says why processes cannot be supervised.",
  worker: "Wait until the start has ended.",
};
const TIMEOUT_MS = 10_000;
const CLOCK_SECONDS_MAX = 30;
const RECENT_MS = 7 * 24 * 3600 * 1000;
