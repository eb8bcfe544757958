import { DomainError, invalid, notFound } from "@berth/core";
import {
  type Attachment,
  type DatabaseAttach,
  type DatabaseDetach,
  DEFAULT_VARIABLE,
  databaseReach,
  databaseReferenceText,
  referableName,
  seenDatabase,
} from "@berth/core/database";
import {
  type DatabaseProperty,
  databaseIn,
  databaseNameIn,
  referencesIn,
  referenceText,
  type SharedReference,
  withDatabaseName,
} from "@berth/core/env";
import type { DatabaseRecord, NamedDatabase, Page, Paging, ResourceRecord, Stores } from "@berth/core/ports";
import { RESOURCE_KINDS, type ResourceKind, type ResourceRef } from "@berth/core/resource";
import { requireAbility } from "@berth/core/team";
import { findResource, type UseCaseContext } from "./context.ts";
import { findDatabaseForUpdate } from "./database-answer.ts";
import { envs } from "./env.ts";
import { findEnvironment } from "./environment.ts";
import { findProject } from "./project.ts";

/** Databases and the resources that use them by variables that reference them. */
export function attachments(context: UseCaseContext) {
  const { scope, stores } = context;
  return {
    /** For a database the resources that use it; for another resource the databases that it uses. */
    async list(ref: ResourceRef, { skip = 0, take }: Paging): Promise<Page<Attachment>> {
      requireAbility(scope, "read");
      const resource = await findResource(stores, ref);
      const all = (await attachmentsIn(stores, resource)).filter(({ database_uuid, resource_uuid }) =>
        ref.kind === "database" ? database_uuid === ref.uuid : resource_uuid === ref.uuid,
      );
      return { items: all.slice(skip, take === undefined ? undefined : skip + take), total: all.length };
    },

    /** @throws DomainError `resource.not_found` */
    async listByEnvironment(
      projectUuid: string,
      nameOrUuid: string,
      { skip = 0, take }: Paging,
    ): Promise<Page<Attachment>> {
      requireAbility(scope, "read");
      const project = await findProject(stores, projectUuid);
      const { id } = await findEnvironment(stores, project.id, nameOrUuid);
      const all = await attachmentsIn(stores, { environment_id: id });
      return { items: all.slice(skip, take === undefined ? undefined : skip + take), total: all.length };
    },

    /** Idempotent. @throws DomainError `request.invalid`, `resource.already_exists` */
    async attach(uuid: string, { resource_uuid, as = DEFAULT_VARIABLE }: DatabaseAttach): Promise<Attachment> {
      requireAbility(scope, "write");
      return stores.transaction(async (tx) => {
        const database = await findDatabaseForUpdate(tx, uuid);
        const resource = await findClient(tx, database, resource_uuid);
        const value = databaseReferenceText(referableName(database, await namesakesOf(tx, database)));
        const current = await tx.envs.findByKey(resource.id, as, false);
        const isAttached = current !== undefined && (await namesOnly(tx, resource, current.value, database)) === "url";
        if (current !== undefined && !isAttached) throw taken(resource, as);
        if (!isAttached) await envs({ ...context, stores: tx }).create(resource, { key: as, value });
        const made = (await attachmentsIn(tx, database)).find(
          (one) =>
            one.resource_uuid === resource.uuid && one.database_uuid === uuid && one.key === as && !one.is_preview,
        );
        if (made === undefined) throw notFound("Attachment");
        if (made.problem !== null) throw invalid({ resource_uuid: [made.problem] });
        return made;
      });
    },

    /**
     * Also deletes the variable of previews. Variables that contain more than the URL, or a part of it, stay.
     * @throws DomainError `resource.in_use` if the named variable does, or all of them
     */
    async detach(uuid: string, { resource_uuid, as }: DatabaseDetach): Promise<{ message: string }> {
      requireAbility(scope, "write");
      return await stores.transaction(async (tx) => {
        const database = await findDatabaseForUpdate(tx, uuid);
        const resource = await findClient(tx, database, resource_uuid);
        const ofResource = async () =>
          (await attachmentsIn(tx, database)).filter(
            (one) => one.database_uuid === uuid && one.resource_uuid === resource.uuid,
          );
        const used = (await ofResource()).filter(({ key }) => as === undefined || key === as);
        if (used.length === 0) throw notFound("Attachment");
        const deleted = new Set<string>();
        for (const { key, is_preview } of used) {
          const variable = await tx.envs.findByKey(resource.id, key, is_preview);
          if (variable === undefined) continue;
          const isOnlyName = (await namesOnly(tx, resource, variable.value, database)) !== undefined;
          if (!isOnlyName) continue;
          await envs({ ...context, stores: tx }).delete(resource, variable.uuid);
          deleted.add(key);
        }
        const [first] = used;
        if (deleted.size === 0 && first !== undefined) throw containsMore(resource, first.key);
        const left = new Set((await ofResource()).map(({ key }) => key));
        const rest =
          left.size === 0
            ? `${resource.name} does not use it from its next deployment on.`
            : `${resource.name} still references it in ${[...left].join(", ")}.`;
        return { message: `Database detached, deleted ${[...deleted].join(", ")}. ${rest}` };
      });
    },
  };
}

/** @throws DomainError `resource.in_use` with the resources that use the database */
export async function requireUnused(stores: Stores, database: ResourceRecord, act: "delete" | "move"): Promise<void> {
  const used = (await attachmentsIn(stores, database)).filter(({ database_uuid }) => database_uuid === database.uuid);
  if (used.length === 0) return;
  const users = [
    ...new Set(used.map(({ resource_type, resource_name, key }) => `${resource_type} ${resource_name} (${key})`)),
  ];
  const sentence = `The database ${database.name} is used by ${users.join(", ")}. Detach it there first, or ${act} it with force=true.`;
  throw new DomainError("resource.in_use", sentence, { details: { attachments: used } });
}

/**
 * Lets the variables that reference a database by its name reference it by its new one. Those that could mean another
 * database too stay.
 * @returns A function to call after the change, with the number of variables that it has changed.
 */
export async function renamingReferences(tx: Stores, before: DatabaseRecord) {
  const isOnlyName = (await namesakesOf(tx, before)).every(({ uuid }) => uuid === before.uuid);
  const named = (await attachmentsIn(tx, before)).filter(
    ({ database_uuid, reference }) =>
      isOnlyName && database_uuid === before.uuid && namesIn([reference]).includes(before.name),
  );
  return async (after: DatabaseRecord): Promise<number> => {
    if (named.length === 0 || after.name === before.name) return 0;
    const to = referableName(after, await namesakesOf(tx, after));
    const variables = (await tx.envs.namingDatabases(before.environment_id)).filter(({ resource, key, is_preview }) =>
      named.some((one) => one.resource_uuid === resource.uuid && one.key === key && one.is_preview === is_preview),
    );
    for (const { resource, uuid, value } of variables) {
      await tx.envs.update(resource.id, uuid, {
        value: value && withDatabaseName(value, before.name, to),
      });
    }
    return new Set(variables.map(({ resource, key }) => `${resource.id} ${key}`)).size;
  };
}

/** For an environment: each variable with each database that it references. */
async function attachmentsIn(
  stores: Stores,
  { environment_id }: Pick<ResourceRecord, "environment_id">,
): Promise<readonly Attachment[]> {
  const variables = (await stores.envs.namingDatabases(environment_id)).map((variable) => ({
    ...variable,
    references: referencesIn([variable.value]).filter((reference) => databaseNameIn(reference) !== undefined),
  }));
  const names = namesIn(variables.map(({ value }) => value));
  const ids = [...new Set(variables.map(({ resource }) => resource.id))];
  const named = Map.groupBy(await stores.databases.namedBy(ids, [...new Set(names)]), ({ resource_id }) => resource_id);
  return variables.flatMap(({ references, resource, key, is_preview }) =>
    // A variable with several parts of one database's URL uses it once.
    [...Map.groupBy(references, (reference) => databaseNameIn(reference) ?? "")].flatMap(([name, ofName]) =>
      matching(named.get(resource.id) ?? [], name).flatMap((one, _at, all) => {
        const ways = ofName.map((reference) => ({
          reference: referenceText(reference),
          ...wayTo(reference, one, all),
        }));
        const shown = ways.find(({ problem }) => problem !== null) ?? ways[0];
        if (shown === undefined) return [];
        return {
          database_uuid: one.database.uuid,
          database_name: one.database.name,
          resource_uuid: resource.uuid,
          resource_name: resource.name,
          resource_type: resource.kind,
          key,
          is_preview,
          ...shown,
        };
      }),
    ),
  );
}

const namesIn = (values: readonly (string | null)[]): readonly string[] =>
  referencesIn(values).flatMap((reference) => databaseNameIn(reference) ?? []);

const matching = (seen: readonly NamedDatabase[], name: string): readonly NamedDatabase[] =>
  seen.filter(({ database }) => database.uuid === name || database.name === name);

function wayTo(
  reference: SharedReference,
  one: NamedDatabase,
  all: readonly NamedDatabase[],
): Pick<Attachment, "route" | "problem"> {
  const problem = seenDatabase(reference, all)?.problem;
  if (problem !== undefined) return { route: null, problem };
  const reach = databaseReach(one.client, one.database, one.secrets);
  return "problem" in reach ? { route: null, problem: reach.problem } : { route: reach.route, problem: null };
}

/** What the value means of this database, if it means nothing else. */
async function namesOnly(
  tx: Stores,
  { id }: ResourceRecord,
  value: string | null,
  { uuid }: DatabaseRecord,
): Promise<DatabaseProperty | undefined> {
  const [reference] = referencesIn([value]);
  const found = reference && databaseIn(reference);
  if (!reference || !found || !isSameReference(value, referenceText(reference))) return undefined;
  const named = matching(await tx.databases.namedBy([id], [found.name]), found.name);
  return named.some(({ database }) => database.uuid === uuid) ? found.property : undefined;
}

/** Ignores spaces around and within the braces. */
const isSameReference = (value: string | null, text: string): boolean =>
  value
    ?.trim()
    .replace(/^\{\{\s*/, "{{ ")
    .replace(/\s*\}\}$/, " }}") === text;

async function namesakesOf(tx: Stores, { environment_id, name }: DatabaseRecord): Promise<readonly DatabaseRecord[]> {
  const { items } = await tx.databases.list({ environment_id });
  return items.filter((other) => other.removing_at === null && [other.name, other.uuid].includes(name));
}

/** @throws DomainError `resource.not_found`, `request.invalid` for a resource of another environment */
async function findClient(tx: Stores, database: DatabaseRecord, uuid: string): Promise<ResourceRecord> {
  // The type of `Object.keys` is wider: these are the kinds.
  for (const kind of Object.keys(RESOURCE_KINDS) as ResourceKind[]) {
    const found = await tx.resources.find({ kind, uuid });
    if (found === undefined || found.id === database.id) continue;
    if (found.environment_id === database.environment_id) return found;
    const sentence = `${found.name} is in another environment than the database ${database.name}. Use a database of its own environment.`;
    throw invalid({ resource_uuid: [sentence] });
  }
  throw notFound("Resource");
}

const taken = ({ name }: ResourceRecord, key: string) =>
  new DomainError(
    "resource.already_exists",
    `${name} has a variable ${key} with another value. Delete it, or choose another name with \`as\`.`,
  );

const containsMore = ({ name }: ResourceRecord, key: string) =>
  new DomainError(
    "resource.in_use",
    `The variable ${key} of ${name} contains more than the database's URL. Change or delete that variable instead.`,
  );
