import { type Artifact, composeOf, generatedValues } from "@berth/core/deploy";
import { newEnv, previewTwin } from "@berth/core/env";
import type { StepContext } from "./context.ts";

type GenerationContext = Pick<StepContext, "stores" | "subject" | "deployment" | "envs" | "clock" | "magic" | "say">;

/**
 * Generates what the built compose file of an application asks for and the application does not have yet: variables of
 * it from then on. Only the build knows that file. Services get theirs when they are created.
 */
export async function generateVariables(ctx: GenerationContext, artifact: Artifact): Promise<Artifact> {
  const { magic, subject, deployment } = ctx;
  const made = missingValues(ctx, artifact);
  if (made.size === 0 || magic === undefined) return artifact;
  const isPreview = deployment.pull_request_id !== 0;
  const team = ctx.stores.forTeam(deployment.team_id);
  await team.transaction(async (tx) => {
    const insert = async (fields: ReturnType<typeof newEnv>) => {
      const known = await tx.envs.findByKey(subject.record.id, fields.key, fields.is_preview);
      if (known === undefined) await tx.envs.insert(subject.record.id, magic.uuid(), fields);
    };
    for (const [key, value] of made) {
      const fields = newEnv({ key, value, is_preview: isPreview });
      await insert(fields);
      if (!isPreview) await insert(previewTwin(fields));
    }
  });
  ctx.say(`Generated ${[...made.keys()].join(", ")}, variables of the application from now on.`);
  return withValues(artifact, made);
}

/** The same with values that are thrown away, for looking at what is not built yet. */
export const withGenerated = (ctx: GenerationContext, artifact: Artifact): Artifact =>
  withValues(artifact, missingValues(ctx, artifact));

function missingValues(
  { magic, subject, deployment, envs, clock }: GenerationContext,
  artifact: Artifact,
): ReadonlyMap<string, string> {
  if (artifact.type !== "stack" || subject.record.kind !== "application" || magic === undefined) return new Map();
  const isPreview = deployment.pull_request_id !== 0;
  const own = envs.filter(({ is_preview }) => is_preview === isPreview).map(({ key, value }) => [key, value] as const);
  const existing = new Map([...Object.entries(artifact.variables ?? {}), ...own]);
  return generatedValues(composeOf(artifact), { source: magic, now: clock.now(), existing });
}

const withValues = (artifact: Artifact, made: ReadonlyMap<string, string>): Artifact =>
  artifact.type === "stack" && made.size > 0
    ? { ...artifact, variables: { ...artifact.variables, ...Object.fromEntries(made) } }
    : artifact;
