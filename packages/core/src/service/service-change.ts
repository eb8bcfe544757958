import { z } from "zod";
import { serviceNetworks } from "../compose/joined-networks.ts";
import { composeWarnings } from "../compose/keys.ts";
import type { Compose } from "../compose/parse.ts";
import { recordOf } from "../compose/record.ts";
import { missingSentence, missingVariables } from "../deploy/required-variables.ts";
import { stackReplacement } from "../deploy/stack-replacement.ts";
import type { StoragePlan } from "./service-storage.ts";
import type { ContainerClaims } from "./service-url.ts";
import type { UrlPlan } from "./service-url-plan.ts";
import type { VariablePlan } from "./service-variable.ts";

const Change = z.enum(["added", "changed", "removed"]);
type Change = z.infer<typeof Change>;

export const ServiceChanges = z
  .object({
    containers: z.array(
      z.object({
        name: z.string(),
        change: Change,
        fields: z.array(z.string()).describe("For a changed container: the parts of its definition that differ."),
      }),
    ),
    variables: z.array(z.object({ key: z.string(), change: Change })).describe("Without their values."),
    storages: z.array(z.object({ container: z.string().nullable(), mount_path: z.string(), change: Change })),
    urls: z.array(z.object({ container: z.string(), before: z.array(z.string()), after: z.array(z.string()) })),
    replacement: z
      .object({
        mode: z.enum(["candidate_first", "stop_first"]),
        reason: z.string(),
        containers: z
          .array(
            z.object({
              name: z.string(),
              action: z.enum(["kept", "candidate_first", "stop_first", "added", "removed"]),
              reason: z.string(),
            }),
          )
          .describe("Unchanged containers keep running."),
      })
      .describe("How the next deployment replaces the running containers."),
    warnings: z
      .array(z.string())
      .describe(
        "Settings of the compose file that Berth ignores or handles differently, and what it requires before it can be deployed.",
      ),
    needs_deployment: z
      .boolean()
      .describe("Running containers stay as they are until the next deployment. URLs take effect at once."),
  })
  .meta({ id: "ServiceChanges", description: "The effects of a change of a service." });
export type ServiceChanges = z.infer<typeof ServiceChanges>;

export interface ServicePlan {
  readonly before: Compose;
  readonly after: Compose;
  /** Settings that shape containers have changed. */
  readonly hasNewSettings: boolean;
  /** Its server manages a cluster. */
  readonly isOnCluster: boolean;
  readonly urls: Pick<UrlPlan, "claims">;
  readonly currentUrls: ContainerClaims;
  readonly variables: VariablePlan;
  /** Existing variables and storages, for their names. */
  readonly existing: {
    readonly variables: readonly { readonly uuid: string; readonly key: string; readonly value: string | null }[];
    readonly storages: readonly Stored[];
  };
  readonly storages: StoragePlan;
}

type Stored = { readonly uuid: string; readonly container: string | null; readonly mount_path: string };

/** The preview of a change. */
export function serviceChanges(plan: ServicePlan): ServiceChanges {
  const containers = containerChanges(plan.before, plan.after);
  const variables = variableChanges(plan);
  const storages = storageChanges(plan);
  const shaping = [containers, variables, storages].some((changes) => changes.length > 0);
  return {
    containers,
    variables,
    storages,
    urls: urlChanges(plan),
    replacement: replacementOf(plan, containers, variables),
    warnings: [...composeWarnings(plan.after.document, plan.isOnCluster), ...demands(plan)],
    needs_deployment: shaping || plan.hasNewSettings || SECTIONS.some((section) => redefined(plan, section).size > 0),
  };
}

/** Required variables without a value after the change. */
function demands({ after, variables: { insert, update }, existing }: ServicePlan): readonly string[] {
  const changed = new Map(update.map(({ uuid, change }) => [uuid, change.value]));
  const entries = [
    ...existing.variables.map(({ uuid, key, value }) => [key, changed.get(uuid) ?? value ?? ""] as const),
    ...insert.map(({ key, value }) => [key, value ?? ""] as const),
  ];
  const sentence = missingSentence(missingVariables(after.variables, Object.fromEntries(entries)));
  return sentence === undefined ? [] : [sentence];
}

function replacementOf(
  { before, after, urls, hasNewSettings, storages }: ServicePlan,
  containers: ServiceChanges["containers"],
  variables: ServiceChanges["variables"],
): ServiceChanges["replacement"] {
  const words = new Map(Object.entries(after.document.services).map(([name, service]) => [name, wordsOf(service)]));
  const mentions = (name: string, key: string) => words.get(name)?.has(key) === true;
  const keys = variables.map(({ key }) => key);
  // A variable that the file does not reference goes to every container.
  const isForAll = hasNewSettings || keys.some((key) => ![...words.keys()].some((name) => mentions(name, key)));
  const definedAnew = SECTIONS.map((section) => ({ section, names: redefined({ before, after }, section) }));
  const changed = Object.entries(after.document.services).flatMap(([name, service]) => {
    const isGiven = isForAll || keys.some((key) => mentions(name, key)) || urls.claims.has(name);
    const isMounted = storages.insert.some(({ container }) => container === name);
    const isDefinedAnew = definedAnew.some(({ section, names }) => {
      const said = section === "networks" ? joined(before, name).concat(joined(after, name)) : keysOf(service[section]);
      return said.some((key) => names.has(key));
    });
    return isGiven || isMounted || isDefinedAnew || containers.some((one) => one.name === name) ? [name] : [];
  });
  const { containers: actions, ...how } = stackReplacement(before, after, new Set(changed));
  return { ...how, containers: [...actions] };
}

/** A container without networks is in the default one, if the file defines it. */
function joined({ document }: Pick<Compose, "document">, name: string): readonly string[] {
  const service = document.services[name] ?? {};
  return service.network_mode ? [] : Object.keys(serviceNetworks(service, document));
}

/** Top-level sections whose entries containers refer to by name. */
const SECTIONS = ["networks", "configs", "secrets"] as const;

/** Names in a section whose definition has changed. */
function redefined({ before, after }: Pick<ServicePlan, "before" | "after">, section: (typeof SECTIONS)[number]) {
  const [old, next] = [before, after].map(({ document }) => recordOf(document[section]));
  return new Set(differing(old ?? {}, next ?? {}));
}

/** Keys of a list of names, of a map, or of a list of maps with a source. */
const keysOf = (said: unknown): readonly string[] =>
  Array.isArray(said) ? said.map((item) => String(recordOf(item).source ?? item)) : Object.keys(recordOf(said));

/** All words, collected once: searching a mebibyte of text for each of a thousand variables would be slow. */
const wordsOf = (value: unknown): ReadonlySet<string> => new Set(JSON.stringify(value).match(/\w+/g));

function containerChanges({ document: before }: Compose, { document: after }: Compose): ServiceChanges["containers"] {
  const names = [...new Set([...Object.keys(after.services), ...Object.keys(before.services)])];
  return names.flatMap((name): ServiceChanges["containers"] => {
    const [old, next] = [before.services[name], after.services[name]];
    if (old === undefined) return [{ name, change: "added", fields: [] }];
    if (next === undefined) return [{ name, change: "removed", fields: [] }];
    const fields = differing(old, next);
    return fields.length === 0 ? [] : [{ name, change: "changed", fields }];
  });
}

function differing(before: Readonly<Record<string, unknown>>, after: Readonly<Record<string, unknown>>): string[] {
  const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
  return keys.filter((key) => JSON.stringify(before[key]) !== JSON.stringify(after[key]));
}

function variableChanges({ variables: { insert, update, delete: gone }, existing }: ServicePlan) {
  const keyOf = new Map(existing.variables.map(({ uuid, key }) => [uuid, key]));
  const named = (uuid: string, change: Change) => {
    const key = keyOf.get(uuid);
    return key === undefined ? [] : [{ key, change }];
  };
  return [
    ...insert.map(({ key }) => ({ key, change: "added" as const })),
    ...update.flatMap(({ uuid }) => named(uuid, "changed")),
    ...gone.flatMap((uuid) => named(uuid, "removed")),
  ];
}

function storageChanges({ storages: { insert, update, delete: gone }, existing }: ServicePlan) {
  const placeOf = new Map(existing.storages.map((storage) => [storage.uuid, storage]));
  const placed = (uuid: string, change: Change) => {
    const storage = placeOf.get(uuid);
    return storage === undefined ? [] : [{ container: storage.container, mount_path: storage.mount_path, change }];
  };
  return [
    ...insert.map(({ container, mount_path }) => ({ container, mount_path, change: "added" as const })),
    ...update.flatMap(({ uuid }) => placed(uuid, "changed")),
    ...gone.flatMap((uuid) => placed(uuid, "removed")),
  ];
}

/** URLs of removed containers are removed with them. */
function urlChanges({ urls: { claims }, currentUrls, after }: ServicePlan): ServiceChanges["urls"] {
  const shown = (list: ContainerClaims, name: string) => (list.get(name) ?? []).map(({ url }) => url);
  const gone = [...currentUrls.keys()].filter((name) => !after.containers.some((container) => container.name === name));
  return [
    ...[...claims.keys()].map((name) => ({
      container: name,
      before: shown(currentUrls, name),
      after: shown(claims, name),
    })),
    ...gone.map((name) => ({ container: name, before: shown(currentUrls, name), after: [] })),
  ].filter(({ before, after: next }) => before.join() !== next.join());
}
