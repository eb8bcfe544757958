import type { DockerFixture, ServerContainer } from "@berth/testing";

/** Something on the engine. */
export interface EngineObject {
  readonly what: "container" | "volume" | "network" | "image";
  readonly id: string;
  /** State that changes when the object is modified. */
  readonly state: unknown;
  readonly resource: string | undefined;
}

/**
 * All objects of the instance and of this test; other tests use the engine too.
 * @param uuids Resources whose images were pulled, and therefore have no labels.
 */
export async function engineObjectsOf(
  docker: DockerFixture,
  uuids: readonly string[] = [],
): Promise<readonly EngineObject[]> {
  const own = [`berth.instance=${docker.instance}`];
  const foreign = Object.entries(docker.labels).map(([key, value]) => `${key}=${value}`);
  const found = await Promise.all([own, foreign].map((label) => engineObjectsWith(docker, { label })));
  const tagged = await docker.client.listImages({ filters: { reference: [`${docker.run}/*`] } });
  const named = uuids.length === 0 ? [] : await docker.client.listImages({ filters: { reference: ["berth/*"] } });
  const pulled = named.flatMap(({ Id, RepoTags }) => (RepoTags ?? []).map((name) => ({ id: name, state: Id })));
  return [
    ...found.flat(),
    ...tagged.map(({ Id }): EngineObject => ({ what: "image", id: Id, state: "tagged", resource: undefined })),
    ...pulled.flatMap((image): readonly EngineObject[] => {
      const resource = uuids.find((uuid) => image.id.startsWith(`berth/${uuid}:`));
      return resource === undefined ? [] : [{ what: "image", ...image, resource }];
    }),
  ];
}

/** All objects on the engine of a suite's own machine. */
export async function engineObjectsOn(
  docker: DockerFixture,
  { client }: ServerContainer,
): Promise<readonly EngineObject[]> {
  const [found, tagged] = await Promise.all([
    engineObjectsWith({ client, instance: docker.instance }, {}),
    tagsOn(client),
  ]);
  return [...found.filter(({ what }) => what !== "image"), ...tagged];
}

/** All files of a suite's own machine, except those of its system programs. */
export async function filesOn({ exec }: ServerContainer): Promise<readonly string[]> {
  const theirs = String.raw`/\(usr\|run\|proc\|sys\|dev\|tmp/runc-process[0-9]+\)`;
  const { output } = await exec(["find", "/", "-xdev", "-regex", theirs, "-prune", "-o", "-print"]);
  return output.split("\n").sort();
}

/** Names of images. */
export async function tagsOn(client: DockerFixture["client"], reference?: string): Promise<readonly EngineObject[]> {
  const images = await client.listImages(reference === undefined ? {} : { filters: { reference: [reference] } });
  const names = images.flatMap(({ Id, RepoTags }) => (RepoTags?.length ? RepoTags : [Id]));
  return names.map((id): EngineObject => ({ what: "image", id, state: "tagged", resource: undefined }));
}

async function engineObjectsWith(
  { client, instance }: Pick<DockerFixture, "client" | "instance">,
  filters: { readonly label?: string[] },
): Promise<readonly EngineObject[]> {
  const [containers, volumes, networks, images] = await Promise.all([
    client.listContainers({ all: true, filters }),
    client.listVolumes({ filters }),
    client.listNetworks({ filters }),
    client.listImages({ filters }),
  ]);
  const resourceOf = (labels: Readonly<Record<string, string>> | null | undefined) =>
    labels?.["berth.instance"] === instance ? labels["berth.resource"] : undefined;
  return [
    ...containers.map(({ Id, Names, State, Labels }): EngineObject => {
      return { what: "container", id: Id, state: `${Names.join()} ${State}`, resource: resourceOf(Labels) };
    }),
    ...(volumes.Volumes ?? []).map(({ Name, Labels }): EngineObject => {
      return { what: "volume", id: Name, state: Labels, resource: resourceOf(Labels) };
    }),
    ...networks.map(({ Id, Name, Labels }): EngineObject => {
      return { what: "network", id: Id, state: Name, resource: resourceOf(Labels) };
    }),
    ...images.map(({ Id, RepoTags, Labels }): EngineObject => {
      return { what: "image", id: Id, state: RepoTags, resource: resourceOf(Labels) };
    }),
  ];
}
export const isOf = (uuid: string | undefined) => (thing: EngineObject) => thing.resource === uuid;
export const sorted = (all: readonly EngineObject[]) =>
  [...all].sort((a, b) => (a.what + a.id < b.what + b.id ? -1 : 1));
