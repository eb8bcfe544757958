import { DomainError } from "@berth/core";
import type { CloudProvider } from "@berth/core/ports";
import { answered, type CloudHttpOptions, cloudHttp } from "./cloud-http.ts";

export function digitalocean(options: CloudHttpOptions): CloudProvider {
  const http = cloudHttp("digitalocean", options);
  return {
    url: options.baseUrl,

    async checkToken(token) {
      const { status } = answered(await http(token, { path: "/account" }));
      if (status === 200) return { isValid: true };
      const reason = REFUSALS[status];
      if (reason !== undefined) return { isValid: false, reason };
      throw new DomainError("cloud.failed", `DigitalOcean answered with status ${status}.`);
    },
  };
}

const REFUSALS: Readonly<Record<number, string>> = {
  401: "DigitalOcean does not accept this token. Create a new one there.",
  403: "DigitalOcean knows this token, but it may not read the account. Give it the scope account:read.",
};
