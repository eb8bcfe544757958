import { interpolated } from "./reference.ts";
import type { ComposeDocument, ComposeService } from "./schema.ts";

// `content` of a mounted file is taken literally: scripts and settings contain `$` that are no variables of the
// compose file. The key is an addition of this API family; the compose tool does not know it.

type Services = ComposeDocument["services"];

/** The services as the compose tool gets them. */
export const withoutContents = (services: Services): Services =>
  mapVolumes(services, (volume) => {
    if (typeof volume === "string" || volume.content == null) return volume;
    const { content: _, ...rest } = volume;
    return rest;
  });

/**
 * The document with its references replaced.
 * @throws DomainError `deploy.start_failed` when the result exceeds the limit
 */
export function interpolatedDocument(
  document: ComposeDocument,
  variables: Readonly<Record<string, string>>,
): ComposeDocument {
  const read = { ...document, services: withoutContents(document.services) };
  // It was validated before its references were replaced, and replacing keeps its shape.
  const replaced = interpolated(read, variables) as ComposeDocument;
  const services = mapVolumes(replaced.services, (volume, name, index) => {
    const said = document.services[name]?.volumes?.[index];
    if (typeof volume === "string" || typeof said !== "object" || said.content == null) return volume;
    return { ...volume, content: said.content };
  });
  return { ...replaced, services };
}

type Volume = NonNullable<ComposeService["volumes"]>[number];

const mapVolumes = (
  services: Services,
  change: (volume: Volume, container: string, index: number) => Volume,
): Services =>
  Object.fromEntries(
    Object.entries(services).map(([name, service]) => [
      name,
      service.volumes
        ? { ...service, volumes: service.volumes.map((volume, index) => change(volume, name, index)) }
        : service,
    ]),
  );
