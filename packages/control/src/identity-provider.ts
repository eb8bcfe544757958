import { invalid, notFound } from "@berth/core";
import type { SystemStores } from "@berth/core/ports";
import {
  eventActor,
  type IdentityProvider,
  type IdentityProviderCreate,
  type IdentityProviderUpdate,
  identityProviderView,
  PROVIDER_ISSUERS,
  requireConfirmation,
  requireRootTeam,
  requireSignUpPlace,
} from "@berth/core/team";
import type { UseCaseContext } from "./context.ts";
import { requireManaging } from "./member.ts";

const NO_TEAM = "No team has this number.";

/** Identity providers belong to the whole instance, because they let people into every team. */
export function identityProviders({ scope, stores, system, ids, instanceUrl }: UseCaseContext) {
  const { identities } = system;

  const requireInstance = () => requireRootTeam(scope, "manage identity providers");

  const emit = (tx: SystemStores, change: "added" | "changed" | "removed", name: string) =>
    tx
      .forTeam(scope.teamId, eventActor(scope.actor))
      .events.append({ type: `identity_provider.${change}`, resource_uuid: null, payload: { name } });

  async function find(uuid: string) {
    const provider = await identities.findProvider(uuid);
    if (provider === undefined) throw notFound("Identity provider");
    return provider;
  }

  /** Rules give roles to people, so their author needs what adding these as members does. @throws DomainError `auth.missing_role` */
  const requireRules = (rules: IdentityProvider["group_roles"]) => {
    for (const { team_id, role } of rules) requireManaging(scope, team_id, role);
  };

  /** @throws DomainError `request.invalid` */
  async function requireTeams({ team_id, group_roles = [] }: Pick<IdentityProviderUpdate, "team_id" | "group_roles">) {
    const isTeam = async (id: number) => (await stores.teams.find(id)) !== undefined;
    if (typeof team_id === "number" && !(await isTeam(team_id))) throw invalid({ team_id: [NO_TEAM] });
    for (const id of new Set(group_roles.map((rule) => rule.team_id))) {
      if (!(await isTeam(id))) throw invalid({ group_roles: [`${NO_TEAM.slice(0, -1)}: ${id}.`] });
    }
  }

  return {
    async list(): Promise<IdentityProvider[]> {
      requireInstance();
      return (await identities.providers()).map((provider) => identityProviderView(provider, instanceUrl));
    },

    /** @throws DomainError `request.invalid`, `auth.missing_role`, `auth.confirmation_required` */
    async create(sent: IdentityProviderCreate): Promise<IdentityProvider> {
      requireInstance();
      requireConfirmation(scope);
      const { name, kind, client_id, client_secret } = sent;
      const issuer = (kind === "google" ? undefined : sent.issuer) ?? PROVIDER_ISSUERS[kind];
      if (issuer === null) throw invalid({ issuer: ["Set the URL of the provider."] });
      const rules = {
        sign_up: sent.sign_up ?? "closed",
        sign_up_domains: sent.sign_up_domains ?? "",
        team_id: sent.team_id ?? null,
        groups_claim: sent.groups_claim ?? "groups",
        group_roles: sent.group_roles ?? [],
      };
      requireSignUpPlace({ kind, ...rules });
      requireRules(rules.group_roles);
      await requireTeams(rules);
      const fields = { uuid: ids.uuid(), name, kind, issuer, client_id, client_secret, ...rules };
      return await system.transaction(async (tx) => {
        const provider = await tx.identities.insertProvider(fields);
        await emit(tx, "added", name);
        return identityProviderView(provider, instanceUrl);
      });
    },

    /** @throws DomainError `request.invalid`, `auth.missing_role`, `auth.confirmation_required` */
    async update(uuid: string, change: IdentityProviderUpdate): Promise<IdentityProvider> {
      requireInstance();
      requireConfirmation(scope);
      const before = await find(uuid);
      requireSignUpPlace({
        kind: before.kind,
        sign_up: change.sign_up ?? before.sign_up,
        sign_up_domains: change.sign_up_domains ?? before.sign_up_domains,
        team_id: change.team_id === undefined ? before.team_id : change.team_id,
        group_roles: change.group_roles ?? before.group_roles,
      });
      const { group_roles = [], groups_claim, sign_up } = change;
      const isForGroups = change.group_roles !== undefined || groups_claim !== undefined || sign_up !== undefined;
      if (isForGroups) requireRules([...before.group_roles, ...group_roles]);
      await requireTeams(change);
      return await system.transaction(async (tx) => {
        const provider = await tx.identities.updateProvider(uuid, change);
        if (provider === undefined) throw notFound("Identity provider");
        await emit(tx, "changed", provider.name);
        return identityProviderView(provider, instanceUrl);
      });
    },

    /** Also deletes its identities. Users without a password then need a sign-in link. */
    async delete(uuid: string): Promise<{ message: string }> {
      requireInstance();
      requireConfirmation(scope);
      const { name } = await find(uuid);
      await system.transaction(async (tx) => {
        if (!(await tx.identities.deleteProvider(uuid))) throw notFound("Identity provider");
        await emit(tx, "removed", name);
      });
      return { message: "Identity provider deleted." };
    },
  };
}
