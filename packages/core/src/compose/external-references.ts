import { isExternal } from "./flag.ts";
import type { ComposeDocument, ComposeService } from "./schema.ts";

/** An existing object of the server that a release uses but does not create. */
export interface ServerObject {
  readonly type: "network" | "volume" | "container";
  /** The name that the engine gets. Engines also accept ids here. */
  readonly name: string;
}

/** Objects of the server that the compose file refers to but does not create. */
export function externalReferences(document: ComposeDocument): readonly ServerObject[] {
  const found = [
    ...Object.values(document.services).flatMap(ofService),
    ...externals("network", document.networks),
    ...externals("volume", document.volumes),
  ];
  return [...new Map(found.map((object) => [`${object.type} ${object.name}`, object])).values()];
}

function ofService(service: ComposeService): readonly ServerObject[] {
  const { network_mode, pid, ipc, volumes_from, external_links } = service;
  return [
    ...networkOf(network_mode),
    ...[pid, ipc].flatMap(containerIn),
    ...listOf(volumes_from).flatMap((text) => containerIn(text.replace(/(?<=.:[^:]+):(ro|rw)$/, ""))),
    ...listOf(external_links).map((text) => container(text.split(":")[0] ?? "")),
  ];
}

/** Every mode that the engine does not predefine is the name of a network. */
function networkOf(mode: string | null | undefined): readonly ServerObject[] {
  if (!mode || /^(none|host|bridge|default|service:.*)$/s.test(mode)) return [];
  return mode.startsWith(CONTAINER) ? containerIn(mode) : [{ type: "network", name: mode }];
}

const containerIn = (said: unknown): readonly ServerObject[] =>
  typeof said === "string" && said.startsWith(CONTAINER) ? [container(said.slice(CONTAINER.length))] : [];

const container = (name: string): ServerObject => ({ type: "container", name: name.replace(/^\//, "") });

const CONTAINER = "container:";

const externals = (type: "network" | "volume", section: ComposeDocument["networks"]): readonly ServerObject[] =>
  Object.entries(section ?? {}).flatMap(([key, said]) =>
    isExternal(said) ? [{ type, name: said?.name || key } as const] : [],
  );

const listOf = (said: unknown): readonly string[] => (Array.isArray(said) ? said.map(String) : []);
