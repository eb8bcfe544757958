import { invalid, notFound } from "@berth/core";
import {
  type CreatedDatabase,
  type Database,
  type DatabaseCreate,
  type DatabaseEngine,
  type DatabaseUpdate,
  databaseAccess,
  databaseChange,
  databaseEngine,
  databaseUrls,
  fieldValues,
  newDatabase,
  withoutPassword,
} from "@berth/core/database";
import { newEnv } from "@berth/core/env";
import type { DatabaseRecord, Page, Paging, StorageFields, Stores } from "@berth/core/ports";
import { maySeeSecrets, requireAbility, requireWrite } from "@berth/core/team";
import { renamingReferences } from "./attachment.ts";
import { backupConfigurations } from "./backup.ts";
import type { UseCaseContext } from "./context.ts";
import { databaseViews, findDatabase, findDatabaseForUpdate } from "./database-answer.ts";
import { renewCertificate } from "./database-certificate.ts";
import { emitResourceEvent } from "./event.ts";
import { recordStarter } from "./lifecycle.ts";
import { openLoopbackPortsIn } from "./loopback-port.ts";
import { resolvePlace } from "./placement.ts";

const PASSWORD_LENGTH = 64;

/** Databases of all engines, which differ only in their row of `DATABASE_ENGINES`. */
export function databases(context: UseCaseContext) {
  const { scope, stores } = context;
  return {
    async list(paging: Paging): Promise<Page<Database>> {
      requireAbility(scope, "read");
      const { items, total } = await stores.databases.list({}, paging);
      const views = await databaseViews(context, items);
      const configurations = await backupConfigurations(stores, items);
      return { items: views.map((view) => ({ ...view, backup_configs: configurations.get(view.uuid) ?? [] })), total };
    },

    async get(uuid: string): Promise<Database> {
      requireAbility(scope, "read");
      const [view] = await databaseViews(context, [await findDatabase(stores, uuid)]);
      if (view === undefined) throw notFound("Database");
      return view;
    },

    create: (engine: DatabaseEngine, sent: DatabaseCreate) => create(context, engine, sent),
    update: (uuid: string, sent: DatabaseUpdate) => update(context, uuid, sent),
  };
}

/**
 * Creates a database with its variables and the storage of its data and, with `instant_deploy`, requests its start:
 * all or nothing.
 *
 * @throws DomainError `request.invalid`, `port.taken`, `engine.unsupported`
 */
async function create(context: UseCaseContext, engine: DatabaseEngine, sent: DatabaseCreate): Promise<CreatedDatabase> {
  const { scope, stores, ids } = context;
  requireWrite(scope, sent);
  const { environment, server, destination } = await resolvePlace(
    stores,
    sent,
    { needsContainers: true },
    unknownEnvironment,
  );
  const made = newDatabase(engine, sent, () => ids.secret(PASSWORD_LENGTH));
  if (Object.keys(made.problems).length > 0) throw invalid(made.problems);
  const { settings, fields, secrets, variables } = made;
  const uuid = ids.uuid();
  return stores.transaction(async (tx) => {
    const database = await tx.databases.insert({
      uuid,
      environment_id: environment.id,
      server_id: server.id,
      destination_id: destination.id,
      name: sent.name ?? `${engine}-database-${uuid}`,
      description: sent.description ?? null,
      engine,
      settings,
      fields,
      secrets,
      ...databaseAccess({ is_public: false, public_port: null }, sent),
    });
    // Variables may have named it before it existed.
    await openLoopbackPortsIn(tx, database);
    await renewCertificate(context, tx, database);
    await saveVariables(context, tx, database, variables);
    await tx.storages.insert(database.id, ids.uuid(), dataStorage(database));
    if (sent.instant_deploy) await recordStarter(context).start(tx, database, {});
    const values = fieldValues(engine, { ...secrets, ...variables });
    const { internal_db_url, external_db_url } = databaseUrls(database, values);
    const shown = maySeeSecrets(scope) ? (url: string) => url : withoutPassword;
    return {
      uuid,
      internal_db_url: shown(internal_db_url),
      ...(external_db_url === null ? {} : { external_db_url: shown(external_db_url) }),
    };
  });
}

const unknownEnvironment = () => {
  const text = "The project has no such environment.";
  return invalid({ environment_name: [text], environment_uuid: [text] });
};

/** A volume at the path that the engine's row defines; users cannot move it. */
const dataStorage = ({ uuid, engine }: DatabaseRecord): StorageFields => ({
  type: "persistent",
  name: `${uuid}-data`,
  mount_path: databaseEngine(engine).dataPath,
  host_path: null,
  fs_path: null,
  content: null,
  is_directory: false,
  is_preview_suffix_enabled: false,
  container: null,
  is_managed: true,
  is_read_only: false,
});

async function update(context: UseCaseContext, uuid: string, sent: DatabaseUpdate): Promise<{ message: string }> {
  const { scope, stores } = context;
  requireAbility(scope, "write");
  const renamed = await stores.transaction(async (tx) => {
    const current = await findDatabaseForUpdate(tx, uuid);
    const { problems, variables, ...change } = databaseChange(current.engine, sent);
    if (Object.keys(problems).length > 0) throw invalid(problems);
    const renameReferences = await renamingReferences(tx, current);
    const database = await tx.databases.update(current.id, {
      ...change,
      name: sent.name ?? undefined,
      description: sent.description,
      access: databaseAccess(current, sent),
    });
    if (database === undefined) throw notFound("Database");
    const variablesRenamed = await renameReferences(database);
    // One that is not public any more, or has another name, is reached by what names it all the same.
    await openLoopbackPortsIn(tx, database);
    await renewCertificate(context, tx, database);
    await saveVariables(context, tx, database, variables);
    await emitResourceEvent(tx, database, "resource.updated", { fields: Object.keys(sent).sort() });
    return variablesRenamed;
  });
  return { message: `Database updated.${renamed === 0 ? "" : ` ${countText(renamed)} its new name.`}` };
}

const countText = (variables: number): string =>
  variables === 1 ? "1 variable that references it has" : `${variables} variables that reference it have`;

/** The fields that are stored as environment variables. */
async function saveVariables(
  { ids }: UseCaseContext,
  tx: Stores,
  { id }: DatabaseRecord,
  variables: Readonly<Record<string, string>>,
): Promise<void> {
  for (const [key, value] of Object.entries(variables)) {
    const current = await tx.envs.findByKey(id, key, false);
    if (current === undefined) await tx.envs.insert(id, ids.uuid(), newEnv({ key, value }));
    else await tx.envs.update(id, current.uuid, { value });
  }
}
