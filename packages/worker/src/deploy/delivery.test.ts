import { deployedKind, type StackArtifact } from "@berth/core/deploy";
import { describe, expect, test } from "vitest";
import { openEachWorld } from "../each-world.fixture.ts";
import { life } from "../killable.fixture.ts";
import { DEFAULT_SETTINGS } from "../settings.ts";
import type { BuildServer, World } from "../world.fixture.ts";
import { type DeliveryContext, deliver, pullLostImages } from "./delivery.ts";

let world: World;
let builder: BuildServer;
openEachWorld(async (opened) => {
  world = opened;
  world.engine.registry = new Map();
  builder = await world.buildServer();
});

describe("what a Compose file came to on a build server", () => {
  async function built() {
    const application = await world.application({ build_pack: "dockercompose" });
    const deployment = await world.deploy(application);
    const subject = await world.system.resources.subject(application.id);
    if (subject === undefined) throw new Error("The application is gone.");
    const name = `berth/${application.uuid}:${deployment.uuid}`;
    const digest = "redis@sha256:1";
    const place = { server: builder.server, engine: builder.engine.for(life()) };
    const lines: string[] = [];
    const ctx: DeliveryContext = {
      kind: deployedKind(subject),
      subject,
      deployment,
      adapters: { server: world.server, engine: world.engine.for(life()) },
      ref: { resourceUuid: application.uuid, deploymentUuid: deployment.uuid },
      settings: DEFAULT_SETTINGS,
      io: { signal: new AbortController().signal, onLine: (line) => void lines.push(line) },
      say: (line) => void lines.push(line),
    };
    world.engine.registry?.set(digest, name);
    for (const image of [`${name}.web`, `${name}.cache`])
      await place.engine.containers?.images?.pull(digest, image, ctx.io);
    const artifact: StackArtifact = {
      type: "stack",
      compose: "{}",
      images: {
        web: { image: `${name}.web`, id: "sha256:old", digest: null },
        cache: { image: `${name}.cache`, digest },
      },
      files: [],
    };
    return { ctx, place, artifact, lines };
  }

  test("comes to its server image by image: what a registry has from there, the rest from the build server", async () => {
    const { ctx, place, artifact, lines } = await built();
    const { deploymentUuid } = ctx.ref;
    expect(await deliver(ctx, place, artifact, "HEAD")).toMatchObject({
      type: "stack",
      images: { web: { id: `sha256:${deploymentUuid}.web` }, cache: { id: `sha256:${deploymentUuid}.cache` } },
    });
    expect([...world.engine.artifacts()].sort()).toEqual([`${deploymentUuid}.cache`, `${deploymentUuid}.web`]);
    expect(lines.filter((line) => line.startsWith("Moves the image"))).toHaveLength(1);
    expect(world.points.count("pull")).toBe(1);
  });

  test("is pulled again where its server has lost it and a registry has it", async () => {
    const { ctx, artifact } = await built();
    await pullLostImages(ctx, artifact);
    expect(world.engine.artifacts()).toEqual([`${ctx.ref.deploymentUuid}.cache`]);
  });
});
