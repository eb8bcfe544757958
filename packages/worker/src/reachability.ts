import { randomBytes } from "node:crypto";
import { isDomainError } from "@berth/core";
import type { ServerMachine, ServerRecord } from "@berth/core/ports";
import { diskUsage, nextDiskCheck, reachabilityAfter } from "@berth/core/server";
import { createLoops } from "./loop.ts";
import type { WorkerDeps } from "./ports.ts";
import type { ServerLeases } from "./server-lease.ts";
import type { WorkerSettings } from "./settings.ts";
import { pause, within } from "./wait.ts";

/** Watches whether servers answer and how full their disks are, and reports changes. */
export interface ReachabilityWatch {
  start(): void;
  stop(): Promise<void>;
}

export interface ReachabilityDeps extends WorkerDeps {
  readonly settings: WorkerSettings;
  readonly serverLeases: ServerLeases;
}

export function createReachabilityWatch(deps: ReachabilityDeps): ReachabilityWatch {
  const { stores, settings, logger, clock, serverLeases } = deps;
  const diskChecks = new Map<number, DiskCheck>();

  const round = async () => {
    const servers = (await stores.servers.list()).filter(({ removing_at }) => removing_at === null);
    forgetOthers(diskChecks, servers);
    let next = 0;
    // Limits concurrent checks, so that hanging servers do not block everything.
    const takeTurns = async () => {
      for (let server = servers[next++]; server !== undefined && !signal.aborted; server = servers[next++]) {
        await look(server).catch((error: unknown) => {
          logger.debug("A server could not be watched.", { server: server.name, error });
        });
        await pause(jittered(settings.probeSeconds / 4 / Math.max(1, servers.length)), signal);
      }
    };
    await Promise.all(Array.from({ length: PROBES_AT_ONCE }, takeTurns));
  };

  const look = async (server: ServerRecord) => {
    const machine = deps.machineOf(server);
    if (machine === undefined && !deps.ownsServer(server)) return;
    const isProbed = machine !== undefined && (server.settings.is_usable || isLost(server));
    if (!isProbed && !isDiskLookDue(server)) return;
    if (!(await serverLeases.acquire(server.id))) return;
    if (isProbed) await probe(server, machine);
    if (isDiskLookDue(server)) await lookAtDisk(server, machine);
  };

  const probe = async (server: ServerRecord, machine: ServerMachine) => {
    const seconds = Math.min(settings.probeTimeoutSeconds, server.settings.connection_timeout);
    const { problem, isSubstituted } = await seen(server, machine, seconds);
    if (isLost(server)) return problem === null ? await validateAgain(server) : undefined;
    const { is_reachable, is_substituted } = server.settings;
    const before = { probes: server.probes, is_reachable };
    const after = { ...reachabilityAfter(before, problem === null), is_substituted: isSubstituted };
    const isSame =
      after.probes === before.probes && after.is_reachable === is_reachable && isSubstituted === is_substituted;
    if (isSame || signal.aborted) return;
    await stores.servers.recordProbe(server, after, problem);
    if (after.is_reachable !== is_reachable) {
      logger.info(after.is_reachable ? "A server is back." : "A server is gone.", { server: server.name, problem });
    }
  };

  const validateAgain = async ({ id, uuid, name, team_id }: ServerRecord) => {
    const subject = { type: "server", id, uuid, name } as const;
    await stores.forTeam(team_id).transaction(async (tx) => {
      await tx.jobs.request([{ uuid: randomBytes(12).toString("hex"), type: "server.validate", subject }]);
      await tx.servers.update(uuid, { is_validating: true });
    });
    logger.info("A server answers again and is validated.", { server: name });
  };

  const seen = async (server: ServerRecord, machine: ServerMachine, seconds: number): Promise<SeenServer> => {
    const failed = (problem: string): SeenServer => ({ problem, isSubstituted: false });
    const asked = AbortSignal.any([signal, AbortSignal.timeout(seconds * 1000)]);
    try {
      const answer = await within(
        seconds,
        machine.ping(asked).then((problem) => ({ problem, isSubstituted: problem !== null })),
      );
      return answer?.value ?? failed(`Server ${server.name} did not answer within ${seconds} s.`);
    } catch (error) {
      if (isDomainError(error, "deploy.cancelled"))
        return failed(`Server ${server.name} did not answer within ${seconds} s.`);
      return failed(isDomainError(error) ? error.message : `Server ${server.name} does not answer.`);
    }
  };

  const isDiskLookDue = ({ id, settings: rule }: ServerRecord) => {
    const known = diskChecks.get(id);
    // Missed checks are not repeated; the next one covers them.
    if (known === undefined) noteDiskCheck(id, clock.now(), rule);
    // The next time is computed once for each, since that takes longer than everything else of an idle server's look.
    else if (!isSameRule(known.rule, rule)) noteDiskCheck(id, known.since, rule);
    const next = diskChecks.get(id)?.next ?? null;
    return next !== null && next <= clock.now();
  };

  const noteDiskCheck = (serverId: number, since: Date, rule: DiskCheck["rule"]) =>
    diskChecks.set(serverId, { since, rule, next: nextDiskCheck(rule, since) });

  const lookAtDisk = async (server: ServerRecord, machine: ServerMachine | undefined) => {
    noteDiskCheck(server.id, clock.now(), server.settings);
    const disk = await (machine === undefined ? deps.diskOf(server) : machine.disk());
    if (disk === undefined) return;
    const { usedPercent, isHigh } = diskUsage(disk, server.settings);
    if (isHigh !== server.is_disk_usage_high) await stores.servers.recordDiskUsage(server.id, { isHigh, usedPercent });
  };

  const loops = createLoops(logger, [
    { title: "The watch over servers", work: round, seconds: () => jittered(settings.probeSeconds) },
  ]);
  const { signal } = loops;
  return loops;
}

/** It could be used, until a validation did not reach it: nobody has to ask for the next one. */
const isLost = ({ settings, server_metadata, is_validating }: ServerRecord): boolean =>
  !settings.is_usable && !settings.is_reachable && server_metadata !== null && !is_validating;

interface DiskCheck {
  readonly since: Date;
  readonly rule: Pick<ServerRecord["settings"], "server_disk_usage_check_frequency" | "server_timezone">;
  readonly next: Date | null;
}

const isSameRule = (one: DiskCheck["rule"], other: DiskCheck["rule"]): boolean =>
  one.server_disk_usage_check_frequency === other.server_disk_usage_check_frequency &&
  one.server_timezone === other.server_timezone;

interface SeenServer {
  /** Why it does not answer; `null`: it does. */
  readonly problem: string | null;
  /** Its cluster is managed through another server meanwhile. */
  readonly isSubstituted: boolean;
}

function forgetOthers(known: Map<number, unknown>, servers: readonly ServerRecord[]): void {
  const ids = new Set(servers.map(({ id }) => id));
  for (const id of [...known.keys()]) if (!ids.has(id)) known.delete(id);
}

/** Spreads the checks of control planes that were started together. */
const jittered = (seconds: number) => seconds * (0.8 + Math.random() * 0.4);

const PROBES_AT_ONCE = 8;
