import type { Engine, ServerRecord } from "@berth/core/ports";
import { chooseBuildServer } from "@berth/core/server";
import { pause } from "../wait.ts";
import type { StepContext } from "./context.ts";
import { assertLease } from "./progress.ts";

/** The server that a deployment is built on. */
export interface BuildPlace {
  readonly server: ServerRecord;
  readonly engine: Engine;
}

/**
 * A build server where the application asks for one, else its target server. Recorded with the deployment, so that the
 * next worker builds there too while it can be used.
 */
export async function chooseBuildPlace(ctx: StepContext): Promise<BuildPlace> {
  const { adapters, subject, kind, deployment, stores, lease, leaseKeeper } = ctx;
  const own: BuildPlace = adapters;
  if (!kind.usesBuildServer(subject)) return own;
  // It may have been chosen after this run read its deployment.
  const before = (await stores.deployments.find(deployment.id))?.build_server_id ?? null;
  const choice = await chooseFree(ctx, before);
  if (choice.server === undefined) {
    assertLease(leaseKeeper, await stores.deployments.saveBuildServer(lease, null));
    ctx.say(`Builds on the application's own server: ${choice.reason}.`, "stderr");
    return own;
  }
  if (before !== null && before !== choice.server.id)
    ctx.say("The previous build server can no longer be used.", "stderr");
  ctx.say(`Builds on build server ${choice.server.name}.`);
  return choice.server.id === own.server.id ? own : { server: choice.server, engine: ctx.engineOf(choice.server) };
}

/** Waits until one of the build servers has a free slot; which will be first is not known. */
async function chooseFree(ctx: StepContext, before: number | null) {
  for (let isTold = false; ; isTold = true) {
    const choice = await choose(ctx, before);
    if (choice.server === undefined) return choice;
    const taken = await ctx.stores.deployments.takeBuildServer(ctx.lease, choice.server.id);
    assertLease(ctx.leaseKeeper, taken !== "lost");
    if (taken === "taken") return choice;
    const { name, settings } = choice.server;
    if (!isTold) ctx.say(`Waits for build server ${name}, where ${settings.concurrent_builds} builds run at once.`);
    await pause(ctx.settings.pollSeconds, ctx.io.signal);
    ctx.io.signal.throwIfAborted();
  }
}

async function choose({ adapters, deployment, stores, ownsServer }: StepContext, before: number | null) {
  const { server: target, engine } = adapters;
  if (engine.containers?.images === undefined) {
    return { server: undefined, reason: `${target.name} cannot run images, and only images are moved between servers` };
  }
  const { items } = await stores.forTeam(deployment.team_id).servers.list();
  const servers = items.filter((server) => server.settings.is_build_server && ownsServer(server));
  const building = servers.length < 2 ? [] : await stores.deployments.listBuilding(servers.map(({ id }) => id));
  const activeBuilds = new Map<number, number>();
  for (const { id, build_server_id } of building) {
    if (build_server_id === null || id === deployment.id) continue;
    activeBuilds.set(build_server_id, (activeBuilds.get(build_server_id) ?? 0) + 1);
  }
  return chooseBuildServer({ target, servers, activeBuilds, before });
}

/** The build server that still stores a build to discard; `undefined` when it was built on the target server. */
export async function otherBuildPlace({
  adapters,
  deployment,
  stores,
  engineOf,
  ownsServer,
}: StepContext): Promise<BuildPlace | undefined> {
  const recorded = await stores.deployments.find(deployment.id);
  if (recorded === undefined || recorded.build_server_id === null) return undefined;
  if (recorded.build_server_id === adapters.server.id) return undefined;
  const server = await stores.servers.find(recorded.build_server_id);
  return server === undefined || !ownsServer(server) ? undefined : { server, engine: engineOf(server) };
}
