import type Docker from "dockerode";
import { statusCodeOf } from "./client.ts";
import { ownedLabels } from "./labels.ts";

/** Makes the network that releases join, where there is none of that name. */
export async function ensureNetwork(docker: Docker, name: string, instance: string): Promise<void> {
  try {
    await docker.getNetwork(name).inspect();
  } catch (cause) {
    if (statusCodeOf(cause) !== 404) throw cause;
    await makeNetwork(docker, name, instance);
  }
}

async function makeNetwork(docker: Docker, name: string, instance: string): Promise<void> {
  try {
    await docker.createNetwork({
      Name: name,
      Driver: "bridge",
      // Old engines would make a second one of the same name.
      CheckDuplicate: true,
      Labels: { ...ownedLabels(instance) },
    });
  } catch (cause) {
    // Somebody else was faster.
    if (statusCodeOf(cause) !== 409) throw cause;
  }
}
