import type Docker from "dockerode";

/** Label of everything that a test creates. Its value is the id of one suite's run. */
export const TEST_LABEL = "berth.test";
/** Label with the creation time, in seconds since 1970. */
export const TEST_TIME_LABEL = "berth.test.at";
/** The product's label on its objects. Tests put the suite's start time into its value. */
const INSTANCE_LABEL = "berth.instance";
const INSTANCE = /^test-(\d+)-/;

const AGE_SECONDS_MAX = 2 * 3600; // Longer than any run.

/** Instance id for a server under test, by which this or a later run finds its objects on the engine. */
export const testInstance = (run: string): string => `test-${nowSeconds()}-${run}`;

export const testLabels = (run: string): Readonly<Record<string, string>> => ({
  [TEST_LABEL]: run,
  [TEST_TIME_LABEL]: String(nowSeconds()),
});

/** Removes all objects with the label, whatever their state; returns those that could not be removed. */
export async function removeLabelled(client: Docker, label: string): Promise<readonly string[]> {
  return removeWhere(client, [label], () => true);
}

/** Removes objects older than two hours, left by runs that were killed. */
export async function removeLeftovers(client: Docker): Promise<void> {
  const isOld = (labels: Labels) => {
    const at = Number(labels?.[TEST_TIME_LABEL] ?? INSTANCE.exec(labels?.[INSTANCE_LABEL] ?? "")?.[1] ?? Number.NaN);
    return nowSeconds() - at > AGE_SECONDS_MAX;
  };
  await removeWhere(client, [TEST_TIME_LABEL], isOld);
  await removeWhere(client, [INSTANCE_LABEL], isOld);
}

type Labels = Readonly<Record<string, string>> | null | undefined;

async function removeWhere(client: Docker, label: string[], isWanted: (labels: Labels) => boolean): Promise<string[]> {
  const filters = { label };
  const failures: string[] = [];
  const tried = async (what: string, removal: Promise<unknown>) => {
    await removal.catch((cause: unknown) => {
      if (!isGone(cause)) failures.push(`${what}: ${cause instanceof Error ? cause.message : cause}`);
    });
  };
  // Containers first, since they use the other objects.
  const containers = await client.listContainers({ all: true, filters });
  await Promise.all(
    containers
      .filter(({ Labels }) => isWanted(Labels))
      .map(({ Id, Names }) => tried(`container ${Names[0]}`, client.getContainer(Id).remove({ force: true, v: true }))),
  );
  for (const { Id, Name, Labels } of await client.listNetworks({ filters })) {
    if (isWanted(Labels)) await tried(`network ${Name}`, client.getNetwork(Id).remove());
  }
  for (const { Name, Labels } of (await client.listVolumes({ filters })).Volumes ?? []) {
    if (isWanted(Labels)) await tried(`volume ${Name}`, client.getVolume(Name).remove({ force: true }));
  }
  for (const { Id, Labels } of await client.listImages({ filters })) {
    if (isWanted(Labels)) await tried(`image ${Id}`, client.getImage(Id).remove({ force: true }));
  }
  return failures;
}

/** 404: already removed. 409: a removal is in progress. */
const isGone = (cause: unknown): boolean =>
  cause instanceof Error &&
  "statusCode" in cause &&
  (cause.statusCode === 404 || (cause.statusCode === 409 && /in progress/.test(cause.message)));

const nowSeconds = () => Math.floor(Date.now() / 1000);
