import type { MachineProvider } from "@berth/core/ports";
import { answered, type CloudHttpOptions } from "./cloud-http.ts";
import { Image, Location, ServerType, SshKey } from "./hetzner-answers.ts";
import { hetznerClient, refusalIn, refused } from "./hetzner-client.ts";
import { createMachine } from "./hetzner-machine.ts";
import { ensureSshKey } from "./hetzner-ssh-key.ts";

export function hetzner(options: CloudHttpOptions): MachineProvider {
  const client = hetznerClient(options);
  return {
    url: options.baseUrl,

    async checkToken(token) {
      // Every token of a project may read locations.
      const answer = answered(await client.http(token, { path: "/locations", query: { per_page: "1" } }));
      const refusal = refusalIn(answer, token);
      return refusal === undefined ? { isValid: true } : { isValid: false, reason: refused(refusal).message };
    },

    locations: (token) => client.list(token, "locations", Location),

    async serverTypes(token) {
      const types = await client.list(token, "server_types", ServerType);
      return types
        .filter(({ deprecated, deprecation }) => !(deprecated ?? deprecation))
        .map(({ deprecation: _, ...type }) => ({ ...type, deprecated: false }));
    },

    async images(token) {
      const images = await client.list(token, "images", Image, { type: "system" });
      return images
        .filter(({ type, deprecated }) => type === "system" && !deprecated)
        .map(({ deprecated: _, name, os_version, ...image }) => ({
          ...image,
          type: "system",
          name: name ?? "",
          os_version: os_version ?? "",
        }));
    },

    sshKeys: (token) => client.list(token, "ssh_keys", SshKey),
    ensureSshKey: (token, key) => ensureSshKey(client, token, key),
    createMachine: (token, machine) => createMachine(client, token, machine),

    async deleteMachine(token, id) {
      const answer = answered(await client.http(token, { method: "DELETE", path: `/servers/${id}` }));
      const refusal = refusalIn(answer, token);
      if (refusal !== undefined && refusal.status !== 404) throw refused(refusal);
    },
  };
}
