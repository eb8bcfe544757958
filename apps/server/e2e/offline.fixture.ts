// Preloaded into a server: it finds no address of any name but its own machine's, so that a test with invented names
// and real ones, such as a cloud provider's, reaches nothing.
import dns from "node:dns";
import { syncBuiltinESMExports } from "node:module";

const { lookup } = dns;
const isOwn = (name: string) => name === "localhost" || /^[\d.]+$/.test(name) || name.includes(":");
const refusal = (name: string) => Object.assign(new Error(`getaddrinfo ENOTFOUND ${name}`), { code: "ENOTFOUND" });
const { lookup: promised } = dns.promises;

dns.lookup = ((name: string, ...rest: unknown[]) => {
  const callback = rest.at(-1) as (error: Error) => void; // Both forms of the function end with it.
  if (isOwn(name)) return Reflect.apply(lookup, dns, [name, ...rest]);
  process.nextTick(callback, refusal(name));
}) as typeof lookup;
dns.promises.lookup = (async (name: string, ...rest: unknown[]) => {
  if (!isOwn(name)) throw refusal(name);
  return await Reflect.apply(promised, dns.promises, [name, ...rest]);
}) as typeof promised;
syncBuiltinESMExports();
