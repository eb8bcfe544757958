import { externalReferences, type ServerObject } from "../compose/external-references.ts";
import { interpolatedDocument } from "../compose/mounted-content.ts";
import { parseWrittenCompose } from "../compose/parse.ts";
import type { ReleaseSpec } from "./release.ts";

// Resources of a server share its engine, where everything can be joined or mounted by its name. So the names in a
// release are checked before it starts: objects of its own team and objects without an owner are allowed.

/** The owner of an object on a server, read from its labels; `undefined`: it is missing, or not Berth's. */
export type ObjectOwner =
  | undefined
  | {
      /** Created by this control plane, not by another one that uses the same engine. */
      readonly isOurs: boolean;
      /** `null`: it belongs to no resource, such as the network of a destination. */
      readonly resourceUuid: string | null;
    };

/** Objects of the release's team on its server. */
export interface TeamBelongings {
  readonly resources: ReadonlySet<string>;
  /** Networks of the team's destinations. */
  readonly networks: ReadonlySet<string>;
}

/** Objects of the server that a release uses but does not create. */
export function namedBy(spec: ReleaseSpec): readonly ServerObject[] {
  const networks = [spec.network, ...(spec.stack?.networks ?? [])].flatMap((name) =>
    name ? [{ type: "network", name } as const] : [],
  );
  if (spec.artifact.type !== "stack" || spec.stack === undefined) return networks;
  const compose = parseWrittenCompose(spec.artifact.compose);
  // The engine reports the problems of the compose file.
  if ("problems" in compose) return networks;
  const document = interpolatedDocument(compose.document, spec.stack.variables);
  return [...networks, ...externalReferences(document)];
}

/** Whether an object that a release names belongs to somebody else. */
export function isForeign({ type, name }: ServerObject, owner: ObjectOwner, own: TeamBelongings): boolean {
  if (isEngineId(name)) return true;
  if (owner === undefined) return false;
  const { isOurs, resourceUuid } = owner;
  if (resourceUuid !== null) return !isOurs || !own.resources.has(resourceUuid);
  // Control planes that share an engine may share the network of a destination, but nothing else.
  return type !== "network" || !own.networks.has(name);
}

/** Anonymous volumes have such names, and no label with their owner. Users do not choose such names. */
const isEngineId = (name: string): boolean => /^[0-9a-f]{64}$/.test(name);

/**
 * Names that can only belong to resources of Berth outside of the team. Names with variables are checked when the
 * resource is deployed.
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

/** Almost every uuid has a digit; without one it may be a word that somebody chose. */
const UUID = "(?=[a-z]*[0-9])[a-z][a-z0-9]{23}";
const NETWORK_OR_VOLUME = new RegExp(`^(?:berth-(?=${UUID}[_-]))?(${UUID})(?:$|[_-])`);
/** `<uuid>-<deployment>` is matched by the patterns above. */
const CONTAINER = new RegExp(`-(${UUID})-${UUID}(?:\\.${UUID})*$`);
