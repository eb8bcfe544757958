import {
  DomainError,
  type EnvBulk,
  type EnvCreate,
  type EnvironmentVariable,
  type EnvRecord,
  type EnvUpdate,
  type EnvViewOptions,
  entryProblems,
  envChange,
  envView,
  type FieldErrors,
  followsTwin,
  invalid,
  isDomainError,
  maySeeSecrets,
  newEnv,
  notFound,
  type Page,
  type Paging,
  previewTwin,
  type ResourceKind,
  type ResourceRecord,
  type ResourceRef,
  requireAbility,
  type Stores,
} from "@berth/core";
import { findResource, findResourceAlone, type UseCaseContext } from "./context.ts";
import { tellOfResource } from "./event.ts";
import { mapPage } from "./page.ts";

/** Kinds whose previews have variables of their own. */
const HAS_PREVIEWS = { application: true, service: false, database: false } as const satisfies Record<
  ResourceKind,
  boolean
>;

/** Environment variables of a resource of any kind. */
export function envs({ scope, stores, ids, reportedVersion }: UseCaseContext) {
  const options: EnvViewOptions = { maySeeSecrets: maySeeSecrets(scope), shared: {}, version: reportedVersion };
  const view = (env: EnvRecord) => envView(env, options);

  async function insert(inside: Stores, owner: ResourceRecord, sent: EnvCreate): Promise<EnvRecord> {
    const fields = newEnv(sent);
    const made = await inside.envs.insert(owner.id, ids.uuid(), fields);
    const needsTwin = HAS_PREVIEWS[owner.kind] && !fields.is_preview;
    if (needsTwin && (await inside.envs.findByKey(owner.id, fields.key, true)) === undefined) {
      await inside.envs.insert(owner.id, ids.uuid(), previewTwin(fields));
    }
    return made;
  }

  async function change(
    inside: Stores,
    owner: ResourceRecord,
    current: EnvRecord,
    sent: EnvUpdate,
  ): Promise<EnvRecord> {
    const fields = envChange(sent);
    const twin = current.is_preview ? undefined : await inside.envs.findByKey(owner.id, current.key, true);
    if (twin !== undefined && followsTwin(twin, current)) await inside.envs.update(owner.id, twin.uuid, fields);
    const changed = await inside.envs.update(owner.id, current.uuid, fields);
    if (changed === undefined) throw notFound("Environment variable");
    return changed;
  }

  const find = (inside: Stores, owner: ResourceRecord, { key, is_preview = false }: EnvUpdate) =>
    inside.envs.findByKey(owner.id, key, is_preview);

  return {
    async list(ref: ResourceRef, paging: Paging): Promise<Page<EnvironmentVariable>> {
      requireAbility(scope, "read");
      const owner = await findResource(stores, ref);
      return mapPage(await stores.envs.list(owner.id, paging), view);
    },

    /** @throws DomainError `request.invalid`, `resource.already_exists` */
    async create(ref: ResourceRef, sent: EnvCreate): Promise<EnvironmentVariable> {
      requireAbility(scope, "write");
      requireNone(entryProblems(sent));
      return stores.transaction(async (inside) => {
        const owner = await findResourceAlone(inside, ref);
        if ((await find(inside, owner, sent)) !== undefined) throw exists();
        const made = await insert(inside, owner, sent).catch(explainExisting);
        await changedEvent(inside, owner, [sent.key]);
        return view(made);
      });
    },

    /** The variable is chosen by its key. @throws DomainError `request.invalid` */
    async update(ref: ResourceRef, sent: EnvUpdate): Promise<EnvironmentVariable> {
      requireAbility(scope, "write");
      requireNone(entryProblems(sent));
      return stores.transaction(async (inside) => {
        const owner = await findResourceAlone(inside, ref);
        const current = await find(inside, owner, sent);
        if (current === undefined) throw notFound("Environment variable");
        const changed = await change(inside, owner, current, sent);
        await changedEvent(inside, owner, [sent.key]);
        return view(changed);
      });
    },

    /** Creates or changes each by its key; all of them or none. */
    async updateBulk(ref: ResourceRef, { data = [] }: EnvBulk): Promise<EnvironmentVariable[]> {
      requireAbility(scope, "write");
      if (data.length === 0) throw new DomainError("request.malformed", "Bulk data is required.");
      requireNone(Object.assign({}, ...data.map((sent, at) => entryProblems(sent, `data.${at}.`))));
      return stores.transaction(async (inside) => {
        const owner = await findResourceAlone(inside, ref);
        const saved: EnvRecord[] = [];
        for (const sent of data) {
          const current = await find(inside, owner, sent);
          saved.push(current ? await change(inside, owner, current, sent) : await insert(inside, owner, sent));
        }
        await changedEvent(inside, owner, [...new Set(data.map(({ key }) => key))]);
        return saved.map(view);
      });
    },

    /** Exactly this one: its preview twin stays. */
    async delete(ref: ResourceRef, envUuid: string): Promise<{ message: string }> {
      requireAbility(scope, "write");
      await stores.transaction(async (inside) => {
        const owner = await findResourceAlone(inside, ref);
        if (!(await inside.envs.delete(owner.id, envUuid))) throw notFound("Environment variable");
        await changedEvent(inside, owner, []);
      });
      return { message: "Environment variable deleted." };
    },
  };
}

function requireNone(problems: FieldErrors): void {
  if (Object.keys(problems).length > 0) throw invalid(problems);
}

/** Keys only: a value is a secret. */
const changedEvent = (inside: Stores, owner: ResourceRecord, keys: readonly string[]) =>
  tellOfResource(inside, owner, "resource.variables_changed", { keys });

const exists = (cause?: unknown) =>
  new DomainError(
    "resource.already_exists",
    "Environment variable already exists. Use PATCH request to update it.",
    cause === undefined ? {} : { cause },
  );

/** Of two requests at once, one comes too late. */
function explainExisting(cause: unknown): never {
  throw isDomainError(cause, "resource.already_exists") ? exists(cause) : cause;
}
