import { type Ability, ROLES, type Role, roleAllows } from "@berth/core/team";
import type { AnyRouter } from "@trpc/server";
import { z } from "zod";
import type { Extra } from "./operation-options.ts";
import { type ApiOperation, operationsOf } from "./rest/routes.ts";

/**
 * The requirements of an operation. The OpenAPI document, `docs/permissions.md` and the tests of each requirement are
 * generated from it.
 */
export interface Permission {
  readonly operation: ApiOperation;
  readonly ability: Ability | null;
  /** Roles whose tokens may have that ability. */
  readonly roles: readonly Role[];
  readonly isRootTeamOnly: boolean;
  readonly rootTeamReaches: Ability | undefined;
  /** Its requests contain ids of objects; those of other teams are reported as not found. */
  readonly namesObjects: boolean;
  readonly extras: readonly Extra[];
}

export const permissionsOf = (router: AnyRouter): readonly Permission[] => operationsOf(router).map(permissionOf);

export function permissionOf(operation: ApiOperation): Permission {
  const { ability, path, rootTeamOnly, isOwnerOnly = false, rootTeamReaches } = operation.options;
  const keys = Object.keys(operation.input?.shape ?? {});
  return {
    operation,
    ability,
    roles: ROLES.filter(
      (role) => ability === null || (roleAllows(role, ability) && (!isOwnerOnly || role === "owner")),
    ),
    isRootTeamOnly: rootTeamOnly !== undefined,
    rootTeamReaches,
    namesObjects: path.includes("{") || keys.some((key) => REFERENCE.test(key)),
    extras: extrasOf(operation, keys),
  };
}

/** A sentence for the OpenAPI document. */
export function needsText(operation: ApiOperation): string {
  const { ability, isRootTeamOnly, roles, extras } = permissionOf(operation);
  if (ability === null) return "Needs no token.";
  const place = isRootTeamOnly ? " in the root team" : "";
  const role = roles.length === 1 ? " and the role `owner`" : "";
  const needs = `Needs the ability \`${ability}\`${place}${role}`;
  return `${[needs, ...extras.map(extraText)].join("; ")}.`;
}

export const extraText = (extra: Extra): string => `for ${extra.for}: ${NEEDS[extra.needs] ?? `\`${extra.needs}\``}`;

/** Texts for requirements other than abilities. */
const NEEDS: Readonly<Partial<Record<Extra["needs"], string>>> = {
  operator: "`root` in the root team",
  owner: "the role `owner`",
  "root owner": "the role `owner` and `root`",
  same: "each of its abilities",
};

function extrasOf({ options, input }: ApiOperation, keys: readonly string[]): readonly Extra[] {
  const { description = "" } = z.globalRegistry.get(input?.shape.instant_deploy ?? z.never()) ?? {};
  const deploys = keys.includes("instant_deploy") && options.ability !== "deploy" && !description.includes("ignored");
  return [...(deploys ? [{ needs: "deploy", for: "`instant_deploy`" } as const] : []), ...(options.extras ?? [])];
}

/** Fields of the answer, at any depth, that are documented as returned only with `read:sensitive`. */
export function sensitiveFields({ options, output }: ApiOperation): readonly string[] {
  const schema = options.events ?? output;
  if (schema === undefined) return [];
  const names = sensitiveIn(z.toJSONSchema(schema, { unrepresentable: "any" }));
  return [...new Set(names)];
}

function sensitiveIn(node: unknown): string[] {
  if (typeof node !== "object" || node === null) return [];
  const { properties = {} } = node as { readonly properties?: Readonly<Record<string, { description?: string }>> };
  const own = Object.entries(properties).filter(([, { description = "" }]) => SENSITIVE.test(description));
  return [...own.map(([name]) => name), ...Object.values(node).flatMap(sensitiveIn)];
}

const SENSITIVE = /(absent|password|needs|without) (without )?`?read:sensitive/i;

/** Fields of bodies and queries that identify an object. */
const REFERENCE = /(^|_)uuids?$|_token_id$/;
