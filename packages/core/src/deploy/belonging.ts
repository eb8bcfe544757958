import { externalReferences, type ServerObject } from "../compose/external-references.ts";
import { interpolatedDocument } from "../compose/mounted-content.ts";
import { parseWrittenCompose } from "../compose/parse.ts";
import type { ReleaseSpec } from "./release.ts";

// Resources of one server share its engine, which lets everything join and mount everything by its name. So what a
// release names is looked at before it starts: a team's own it may name, and what is nobody's.

/** Whose something on a server is, as its labels say; `undefined`: nobody's that Berth knows, or not there. */
export type ObjectOwner =
  | undefined
  | {
      /** Created by this control plane, not by another one on the same engine. */
      readonly isOurs: boolean;
      /** `null`: made for no resource, such as the network of a destination. */
      readonly resourceUuid: string | null;
    };

/** Objects of the release's team on its server. */
export interface TeamBelongings {
  readonly resources: ReadonlySet<string>;
  /** Networks of its destinations. */
  readonly networks: ReadonlySet<string>;
}

/** Objects of the server that a release uses but does not create. */
export function namedBy(spec: ReleaseSpec): readonly ServerObject[] {
  const networks = [spec.network, ...(spec.stack?.networks ?? [])].flatMap((name) =>
    name ? [{ type: "network", name } as const] : [],
  );
  if (spec.artifact.type !== "stack" || spec.stack === undefined) return networks;
  const compose = parseWrittenCompose(spec.artifact.compose);
  // The engine says what is wrong with it.
  if ("problems" in compose) return networks;
  const document = interpolatedDocument(compose.document, spec.stack.variables);
  return [...networks, ...externalReferences(document)];
}

/** Whether something that a release names is another's. */
export function isForeign({ type, name }: ServerObject, owner: ObjectOwner, own: TeamBelongings): boolean {
  if (isEngineId(name)) return true;
  if (owner === undefined) return false;
  const { isOurs, resourceUuid } = owner;
  if (resourceUuid !== null) return !isOurs || !own.resources.has(resourceUuid);
  // Control planes that share an engine may share the network of a destination, and nothing else.
  return type !== "network" || !own.networks.has(name);
}

/** Volumes without a name have such ones, and carry no label that says whose they are. Nobody names anything so. */
const isEngineId = (name: string): boolean => /^[0-9a-f]{64}$/.test(name);

/**
 * Names that can only be of a resource of Berth which the team does not have. Those with variables in them are looked at
 * when it is deployed.
 * @param isOwn Whether this is the uuid of one of the team's resources.
 */
export const foreignNames = (
  named: readonly ServerObject[],
  isOwn: (uuid: string) => boolean,
): readonly ServerObject[] =>
  named.filter(({ name }) => {
    if (isEngineId(name)) return true;
    const uuid = uuidIn(name);
    return uuid !== undefined && !isOwn(uuid);
  });

/** The resource's uuid in the name of a network, volume or container that Berth created. */
export const uuidIn = (name: string): string | undefined =>
  name.includes("$") ? undefined : (NETWORK_OR_VOLUME.exec(name) ?? CONTAINER.exec(name) ?? [])[1];

/** Nearly all have a digit; what has none may be a word that somebody chose. */
const UUID = "(?=[a-z]*[0-9])[a-z][a-z0-9]{23}";
const NETWORK_OR_VOLUME = new RegExp(`^(?:berth-(?=${UUID}[_-]))?(${UUID})(?:$|[_-])`);
/** `<uuid>-<deployment>` is among those before it. */
const CONTAINER = new RegExp(`-(${UUID})-${UUID}(?:\\.${UUID})*$`);
