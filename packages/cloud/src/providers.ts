import type { CloudProviders, MachineProvider } from "@berth/core/ports";
import { CLOUD_PROVIDERS } from "@berth/core/server";
import type { CloudHttpOptions } from "./cloud-http.ts";
import { digitalocean } from "./digitalocean.ts";

export interface CloudProvidersOptions extends Omit<CloudHttpOptions, "baseUrl"> {
  /** In place of the providers' own addresses: a gateway, or a stand-in. */
  readonly urls?: { readonly hetzner?: string | undefined; readonly digitalocean?: string | undefined };
}

export function cloudProviders({ urls = {}, ...options }: CloudProvidersOptions): CloudProviders {
  return {
    hetzner: laterHetzner({ ...options, baseUrl: urls.hetzner ?? CLOUD_PROVIDERS.hetzner.url }),
    digitalocean: digitalocean({ ...options, baseUrl: urls.digitalocean ?? CLOUD_PROVIDERS.digitalocean.url }),
  };
}

/** Loaded with the first call, since many instances rent no machines. */
function laterHetzner(options: CloudHttpOptions): MachineProvider {
  let opening: Promise<MachineProvider> | undefined;
  const opened = () => {
    opening ??= import("./hetzner.ts").then(({ hetzner }) => hetzner(options));
    return opening;
  };
  return {
    url: options.baseUrl,
    checkToken: async (...given) => await (await opened()).checkToken(...given),
    locations: async (...given) => await (await opened()).locations(...given),
    serverTypes: async (...given) => await (await opened()).serverTypes(...given),
    images: async (...given) => await (await opened()).images(...given),
    sshKeys: async (...given) => await (await opened()).sshKeys(...given),
    ensureSshKey: async (...given) => await (await opened()).ensureSshKey(...given),
    createMachine: async (...given) => await (await opened()).createMachine(...given),
    deleteMachine: async (...given) => await (await opened()).deleteMachine(...given),
  };
}
