import { DomainError, invalid } from "@berth/core";
import type { Machine, NewMachine } from "@berth/core/ports";
import type { CloudRequest } from "./cloud-http.ts";
import { CreatedServer, FoundServers, type HetznerRefusal, type HetznerServer, read } from "./hetzner-answers.ts";
import { type HetznerClient, refusalIn, refused } from "./hetzner-client.ts";

/** Label of every machine, with the uuid of its server. */
const LABEL = "berth-server";

export async function createMachine(client: HetznerClient, token: string, machine: NewMachine): Promise<Machine> {
  const answer = await client.http(token, creationOf(machine));
  if ("error" in answer) {
    if (answer.isUndone) throw answer.error;
    return await findLost(client, token, machine, answer.error);
  }
  const refusal = refusalIn(answer, token);
  if (refusal !== undefined) throw refusedMachine(refusal, machine);
  try {
    return machineOf(read(CreatedServer, answer.body, "the new server").server);
  } catch (error) {
    return await findLost(client, token, machine, error);
  }
}

const creationOf = (machine: NewMachine): CloudRequest => ({
  method: "POST",
  path: "/servers",
  body: {
    name: machine.name,
    location: machine.location,
    server_type: machine.serverType,
    image: machine.image,
    ssh_keys: machine.sshKeyIds,
    public_net: { enable_ipv4: machine.hasIpv4, enable_ipv6: machine.hasIpv6 },
    start_after_create: true,
    labels: { [LABEL]: machine.serverUuid },
    ...(machine.userData === null ? {} : { user_data: machine.userData }),
  },
});

const machineOf = ({ id, name, public_net: { ipv4, ipv6 } }: HetznerServer): Machine => ({
  id,
  name,
  ipv4: ipv4?.ip ?? null,
  ipv6: ipv6?.ip ?? null,
});

/** The machine may have been created although the answer was lost. */
async function findLost(client: HetznerClient, token: string, machine: NewMachine, lost: unknown): Promise<Machine> {
  const label_selector = `${LABEL}==${machine.serverUuid}`;
  const found = await client
    .ask(token, { path: "/servers", query: { label_selector } })
    .then((body) => read(FoundServers, body, "its servers").servers)
    .catch(() => undefined);
  const [server] = found ?? [];
  if (server !== undefined) return machineOf(server);
  // The list shows that it was not created.
  if (found !== undefined) throw lost;
  throw new DomainError(
    "cloud.failed",
    `Hetzner may have created the server ${machine.name}, but does not answer. Check there, and delete it if it exists.`,
    { cause: lost },
  );
}

function refusedMachine(refusal: HetznerRefusal, { name }: NewMachine): DomainError {
  const { code, fields, message } = refusal;
  if (code === "uniqueness_error") {
    return new DomainError("resource.already_exists", `Hetzner has a server ${name} already. Choose another name.`);
  }
  if (code !== "invalid_input") return refused(refusal);
  const named = Object.entries(fields).map(([field, texts]) => [
    FIELDS[field] ?? "_",
    texts.length > 0 ? texts : [message],
  ]);
  return invalid(named.length > 0 ? Object.fromEntries(named) : { [fieldIn(message)]: [message] });
}

/** Hetzner's field names of a creation, and those of Berth's API. */
const FIELDS: Readonly<Record<string, string>> = {
  name: "name",
  location: "location",
  server_type: "server_type",
  image: "image",
  ssh_keys: "hetzner_ssh_key_ids",
  user_data: "cloud_init_script",
  public_net: "enable_ipv4",
};

/** For errors that name the field only in their message, e.g. `server type not found`. */
function fieldIn(message: string): string {
  const words = message.toLowerCase().replaceAll("_", " ");
  const named = Object.keys(FIELDS).find((field) => words.includes(field.replaceAll("_", " ").replace(/s$/, "")));
  return (named && FIELDS[named]) ?? "_";
}
