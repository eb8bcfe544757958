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
  sharedVariables,
} from "@berth/core/env";
import type { EnvRecord, ResourceRecord } from "@berth/core/ports";
import type { ResourceKind, ResourceRef } from "@berth/core/resource";
import { maySeeSecrets } from "@berth/core/team";
import { findResource, findResourceForUpdate, type UseCaseContext } from "./context.ts";
import { emitResourceEvent } from "./event.ts";
import { type KeyedVariables, keyedVariables } from "./keyed-variables.ts";

/** Kinds whose previews have variables of their own. */
const HAS_PREVIEWS = { application: true, service: false, database: false } as const satisfies Record<
  ResourceKind,
  boolean
>;

/** Environment variables of a resource of any kind. */
export const envs = (context: UseCaseContext) => keyedVariables(context, envsOf(context));

const envsOf = ({
  scope,
  ids,
  reportedVersion: version,
}: UseCaseContext): KeyedVariables<ResourceRef, ResourceRecord, EnvCreate, EnvRecord, EnvironmentVariable> => ({
  title: "Environment variable",
  owner: findResource,
  ownerAlone: findResourceForUpdate,
  list: (stores, owner, paging) => stores.envs.list(owner.id, paging),
  find: (tx, owner, { key, is_preview = false }) => tx.envs.findByKey(owner.id, key, is_preview),

  async insert(tx, owner, sent) {
    const fields = newEnv(sent);
    const made = await tx.envs.insert(owner.id, ids.uuid(), fields);
    const needsTwin = HAS_PREVIEWS[owner.kind] && !fields.is_preview;
    if (needsTwin && (await tx.envs.findByKey(owner.id, fields.key, true)) === undefined) {
      await tx.envs.insert(owner.id, ids.uuid(), previewTwin(fields));
    }
    return made;
  },

  async change(tx, owner, current, sent) {
    const fields = envChange(sent);
    const twin = current.is_preview ? undefined : await tx.envs.findByKey(owner.id, current.key, true);
    if (twin !== undefined && mirrorsPreview(twin, current)) await tx.envs.update(owner.id, twin.uuid, fields);
    const changed = await tx.envs.update(owner.id, current.uuid, fields);
    if (changed === undefined) throw notFound("Environment variable");
    return changed;
  },

  /** Exactly this one: its preview twin stays. */
  delete: (tx, owner, uuid) => tx.envs.delete(owner.id, uuid),

  changed: (tx, owner, keys) => emitResourceEvent(tx, owner, "resource.variables_changed", { keys }),

  async views(stores, owner, rows) {
    const maySee = maySeeSecrets(scope);
    const references = referencesIn(rows.map(({ value }) => value));
    const seen = await stores.sharedVariables.seenBy([owner.id], references);
    // Values that are shown once do not appear through references either.
    const shared = sharedVariables(seen.filter(({ is_shown_once }) => !is_shown_once));
    return envViews(rows, { maySeeSecrets: maySee, shared, version });
  },
});
