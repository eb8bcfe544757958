import { invalid, notFound } from "@berth/core";
import {
  newSharedVariable,
  SHARED_VARIABLES_MAX,
  type SharedVariable,
  type SharedVariableCreate,
  sharedVariableChange,
  sharedVariableView,
} from "@berth/core/env";
import type { SharedVariableOwner, SharedVariableRecord, Stores } from "@berth/core/ports";
import { maySeeSecrets } from "@berth/core/team";
import type { UseCaseContext } from "./context.ts";
import { findEnvironment } from "./environment.ts";
import { keyedVariables, type OwnedVariables, type VariableKind } from "./keyed-variables.ts";
import { findProject } from "./project.ts";
import { rowBuffer } from "./row-buffer.ts";
import { findServer } from "./server.ts";

/** Owner of the shared variables in a request. `uuid` is the project's, also for one of its environments. */
export type SharedOwnerRef =
  | { readonly scope: "team" }
  | { readonly scope: "project" | "server"; readonly uuid: string }
  | { readonly scope: "environment"; readonly uuid: string; readonly environment_name_or_uuid: string };

/** Variables of a team, project, environment or server that environment variables reference. */
export const sharedVariables = (context: UseCaseContext) => keyedVariables(context, variablesOf(context));

interface NamedOwner extends SharedVariableOwner {
  readonly uuid: string | null;
  readonly name: string;
}

const TITLE = "Shared variable";

type Owned = OwnedVariables<SharedVariableCreate, SharedVariableRecord, SharedVariable>;

function variablesOf({
  scope: caller,
  ids,
}: UseCaseContext): VariableKind<SharedOwnerRef, SharedVariableCreate, SharedVariableRecord, SharedVariable> {
  const stored = ({ sharedVariables: rows, events }: Stores, owner: NamedOwner): Owned => ({
    list: (paging) => rows.list(owner, paging),
    find: ({ key }) => rows.findByKey(owner, key),
    insert: (sent) => rows.insert(owner, ids.uuid(), newSharedVariable(sent)),
    async change(current, sent) {
      const changed = await rows.update(owner, current.uuid, sharedVariableChange(sent));
      if (changed === undefined) throw notFound(TITLE);
      return changed;
    },
    flush: async (changed) => changed,
    delete: (uuid) => rows.delete(owner, uuid),
    async emitChange(keys) {
      const { total } = await rows.list(owner, { take: 0 });
      if (keys.length > 0 && total > SHARED_VARIABLES_MAX) throw full(owner);
      const { scope, uuid, name } = owner;
      await events.append({ type: "shared_variables.changed", resource_uuid: uuid, payload: { scope, name, keys } });
    },
    views: async (rows) => rows.map((row) => sharedVariableView(owner.scope, row, maySeeSecrets(caller))),
  });
  const buffered = async (tx: Stores, owner: NamedOwner, keys: readonly string[]): Promise<Owned> => {
    const rows = rowBuffer(await tx.sharedVariables.withKeys(owner, keys), { title: TITLE, nameOf: ({ key }) => key });
    return {
      ...stored(tx, owner),
      find: async ({ key }) => rows.find(key),
      insert: async (sent) => rows.insert(ids.uuid(), newSharedVariable(sent)),
      change: async (current, sent) => rows.update(current.uuid, sharedVariableChange(sent)) ?? current,
      flush: (changed) => rows.flush(changed, (all) => tx.sharedVariables.saveAll(owner, all)),
    };
  };
  return {
    title: TITLE,
    of: async (stores, ref) => stored(stores, await findOwner(stores, ref)),
    async forUpdate(tx, ref, keys) {
      const owner = await findOwner(tx, ref);
      if (!(await tx.sharedVariables.alone(owner))) throw notFound("Owner");
      return keys === undefined ? stored(tx, owner) : await buffered(tx, owner, keys);
    },
  };
}

async function findOwner(stores: Stores, ref: SharedOwnerRef): Promise<NamedOwner> {
  const { scope } = ref;
  switch (ref.scope) {
    case "team": {
      const team = await stores.teams.current();
      if (team === undefined) throw notFound("Team");
      return { scope, id: team.id, uuid: null, name: team.name };
    }
    case "server":
      return named(scope, await findServer(stores, ref.uuid));
    case "project":
      return named(scope, await findProject(stores, ref.uuid));
    case "environment": {
      const project = await findProject(stores, ref.uuid);
      return named(scope, await findEnvironment(stores, project.id, ref.environment_name_or_uuid));
    }
  }
}

const named = (
  scope: SharedVariableOwner["scope"],
  { id, uuid, name }: { readonly id: number; readonly uuid: string; readonly name: string },
): NamedOwner => ({ scope, id, uuid, name });

const full = ({ scope, name }: NamedOwner) =>
  invalid({ _: [`Limit reached: at most ${SHARED_VARIABLES_MAX} shared variables in the ${scope} ${name}.`] });
