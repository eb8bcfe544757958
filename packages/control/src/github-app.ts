import { DomainError, invalid, isPrivateWay, notFound, PRIVATE_ADDRESS_REMEDY, PRIVATE_WAY_PROBLEM } from "@berth/core";
import type { GitHostLogin, GithubAppRecord, Page, Paging, PrivateKeyRecord, Stores } from "@berth/core/ports";
import {
  appOrigins,
  type GithubApp,
  type GithubAppChanged,
  type GithubAppCreate,
  type GithubAppUpdate,
  githubAppChange,
  githubAppView,
  githubLogin,
  type HostedBranch,
  type HostedRepository,
  newGithubApp,
  type RepositoryName,
  requireAppOrigins,
} from "@berth/core/source";
import { requireAbility } from "@berth/core/team";
import type { UseCaseContext } from "./context.ts";
import { mapPage } from "./page.ts";

/** GitHub apps that give the team access to repositories. */
export function githubApps(context: UseCaseContext) {
  const { scope, stores, gitHost } = context;
  return {
    async list(paging: Paging): Promise<Page<GithubApp>> {
      requireAbility(scope, "read");
      return mapPage(await stores.githubApps.list(paging), githubAppView);
    },

    /**
     * @throws DomainError `resource.not_found` for the key, `request.invalid` for an address that must not be called
     */
    async create(sent: GithubAppCreate): Promise<GithubApp> {
      requireAbility(scope, "write");
      return stores.transaction(async (tx) => {
        const key = await findKey(tx, sent.private_key_uuid);
        const { fields, secrets } = newGithubApp(sent, key.id);
        requireCallable(context, fields);
        requireAppOrigins(fields, await tx.privateKeys.secretsFor(key.id, "app", appOrigins(fields)));
        const app = await tx.githubApps.insert(fields, secrets);
        await emit(tx, "created", app);
        return githubAppView(app);
      });
    },

    /** @throws DomainError `resource.not_found`, `request.invalid` */
    async update(id: number, sent: GithubAppUpdate): Promise<GithubAppChanged> {
      requireAbility(scope, "write");
      return stores.transaction(async (tx) => {
        await findGithubApp(tx, id);
        requireCallable(context, sent);
        const { private_key_uuid: uuid } = sent;
        const key = uuid === undefined ? undefined : await findKey(tx, uuid);
        const { fields, secrets } = githubAppChange(sent, key?.id);
        const app = await tx.githubApps.update(id, fields, secrets);
        if (app === undefined) throw missing();
        requireAppOrigins(app, await tx.privateKeys.secretsFor(app.private_key_id, "app", appOrigins(app)));
        await emit(tx, "updated", app);
        return { message: "GitHub app updated successfully", data: githubAppView(app) };
      });
    },

    /** @throws DomainError `github_app.in_use` */
    async delete(id: number): Promise<{ message: string }> {
      requireAbility(scope, "write");
      await stores.transaction(async (tx) => {
        const app = await findGithubApp(tx, id);
        if ((await tx.githubApps.deleteIfUnused(id)) === "used") throw inUse(app);
        await emit(tx, "deleted", app);
      });
      return { message: "GitHub app deleted successfully" };
    },

    /** @throws DomainError `git_host.refused`, `git_host.failed`, `rate.limited` */
    async repositories(id: number, paging: Paging): Promise<Page<HostedRepository>> {
      requireAbility(scope, "read");
      const login = await loginOf(stores, await findGithubApp(stores, id));
      return cut(await gitHost.repositories(login), paging);
    },

    /** @throws DomainError `git_host.not_found`, `git_host.refused`, `git_host.failed`, `rate.limited` */
    async branches(id: number, name: RepositoryName, paging: Paging): Promise<Page<HostedBranch>> {
      requireAbility(scope, "read");
      const login = await loginOf(stores, await findGithubApp(stores, id));
      return cut(await gitHost.branches(login, name), paging);
    },
  };
}

/** @throws DomainError `resource.not_found` */
async function findGithubApp(stores: Stores, id: number): Promise<GithubAppRecord> {
  const app = await stores.githubApps.find(id);
  if (app === undefined) throw missing();
  return app;
}

/** The login with which Berth authenticates as the app. */
export const loginOf = async (
  { privateKeys }: Pick<Stores, "privateKeys">,
  app: GithubAppRecord,
): Promise<GitHostLogin> => githubLogin(app, await privateKeys.secretsFor(app.private_key_id, "app", appOrigins(app)));

async function findKey(stores: Stores, uuid: string): Promise<PrivateKeyRecord> {
  const key = await stores.privateKeys.find(uuid);
  if (key !== undefined) return key;
  throw new DomainError("resource.not_found", "Private key not found or does not belong to your team.");
}

/** A host name is resolved only when it is called, and checked again then. */
function requireCallable(
  { gitHost }: Pick<UseCaseContext, "gitHost">,
  sent: { readonly api_url?: string | null | undefined; readonly html_url?: string | undefined },
): void {
  const problemsOf = (url: string) => [
    ...(gitHost.mayCall(url) ? [] : [PRIVATE_ADDRESS]),
    ...(isPrivateWay(url) ? [] : [PRIVATE_WAY_PROBLEM]),
  ];
  const problems = Object.entries({ api_url: sent.api_url, html_url: sent.html_url })
    .map(([field, url]) => [field, url == null ? [] : problemsOf(url)] as const)
    .filter(([, found]) => found.length > 0);
  if (problems.length > 0) throw invalid(Object.fromEntries(problems));
}

const PRIVATE_ADDRESS = `This instance does not call private addresses. ${PRIVATE_ADDRESS_REMEDY}`;

const missing = () => notFound("GitHub app");

const inUse = ({ name }: GithubAppRecord) =>
  new DomainError(
    "github_app.in_use",
    `GitHub app ${name} is in use: applications use it as their source. Delete them first.`,
  );

const cut = <T>(all: readonly T[], { skip = 0, take = all.length }: Paging): Page<T> => ({
  items: all.slice(skip, skip + take),
  total: all.length,
});

const emit = (tx: Stores, change: "created" | "updated" | "deleted", { uuid, name }: GithubAppRecord) =>
  tx.events.append({ type: `github_app.${change}`, resource_uuid: uuid, payload: { name } });
