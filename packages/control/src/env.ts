import { notFound } from "@berth/core";
import {
  type EnvCreate,
  type EnvironmentVariable,
  envChange,
  envViews,
  mirrorsPreview,
  newEnv,
  previewTwin,
  referencesIn,
} from "@berth/core/env";
import type { EnvRecord, ResourceRecord, Stores } from "@berth/core/ports";
import type { ResourceKind, ResourceRef } from "@berth/core/resource";
import { maySeeSecrets } from "@berth/core/team";
import { findResource, findResourceForUpdate, type UseCaseContext } from "./context.ts";
import { bufferedEnvs, type EnvRows, storedEnvs } from "./env-rows.ts";
import { emitResourceEvent } from "./event.ts";
import { keyedVariables, type OwnedVariables, type VariableKind } from "./keyed-variables.ts";

/** Kinds whose previews have variables of their own. */
const HAS_PREVIEWS = { application: true, service: false, database: false } as const satisfies Record<
  ResourceKind,
  boolean
>;

/** Environment variables of a resource of any kind. */
export const envs = (context: UseCaseContext) => keyedVariables(context, envsOf(context));

type Owned = OwnedVariables<EnvCreate, EnvRecord, EnvironmentVariable>;

function envsOf({
  scope,
  ids,
  reportedVersion: version,
}: UseCaseContext): VariableKind<ResourceRef, EnvCreate, EnvRecord, EnvironmentVariable> {
  const owned = (stores: Stores, owner: ResourceRecord, rows: EnvRows = storedEnvs(stores, owner)): Owned => ({
    list: (paging) => stores.envs.list(owner.id, paging),
    find: ({ key, is_preview = false }) => rows.find(key, is_preview),
    flush: (changed) => rows.flush(changed),

    async insert(sent) {
      const fields = newEnv(sent);
      const made = await rows.insert(ids.uuid(), fields);
      const needsTwin = HAS_PREVIEWS[owner.kind] && !fields.is_preview;
      if (needsTwin && (await rows.find(fields.key, true)) === undefined) {
        await rows.insert(ids.uuid(), previewTwin(fields));
      }
      return made;
    },

    async change(current, sent) {
      const fields = envChange(sent);
      const twin = current.is_preview ? undefined : await rows.find(current.key, true);
      if (twin !== undefined && mirrorsPreview(twin, current)) await rows.update(twin.uuid, fields);
      const changed = await rows.update(current.uuid, fields);
      if (changed === undefined) throw notFound("Environment variable");
      return changed;
    },

    /** Deletes only this one: its preview variable stays. */
    delete: (uuid) => stores.envs.delete(owner.id, uuid),

    emitChange: (keys) => emitResourceEvent(stores, owner, "resource.variables_changed", { keys }),

    async views(rows) {
      const maySee = maySeeSecrets(scope);
      const references = referencesIn(rows.map(({ value }) => value));
      const seen = await stores.sharedVariables.seenBy([owner.id], references);
      return envViews(rows, { maySeeSecrets: maySee, seen, version });
    },
  });
  return {
    title: "Environment variable",
    of: async (stores, ref) => owned(stores, await findResource(stores, ref)),
    async forUpdate(tx, ref, keys) {
      const owner = await findResourceForUpdate(tx, ref);
      return owned(tx, owner, keys && (await bufferedEnvs(tx, owner, keys)));
    },
  };
}
