import { lookup as lookUp } from "node:dns";
import type { LookupFunction } from "node:net";
import { mayConnect, type PrivateHosts } from "./private-hosts.ts";

/**
 * Resolves names for a connection, and returns only addresses that may be connected to: an earlier check does not
 * count, since the name may resolve differently now.
 *
 * @param refusal Makes the error when every address is private and not allowed.
 */
export function guardedLookup(
  allowed: PrivateHosts,
  refusal: (host: string, address: string) => Error,
): LookupFunction {
  return (host, options, callback) => {
    lookUp(host, { all: true, order: "ipv4first" }, (error, found = []) => {
      const permitted = found.filter(({ address }) => mayConnect(host, address, allowed));
      const first = permitted[0];
      if (error !== null) callback(error, "");
      else if (first === undefined) callback(refusal(host, found[0]?.address ?? ""), "");
      else if (options.all) callback(null, permitted);
      else callback(null, first.address, first.family);
    });
  };
}
