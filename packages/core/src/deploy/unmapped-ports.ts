import type { ApplicationSettings } from "../application/application.ts";
import type { EngineCapabilities } from "../ports/engine.ts";
import { portMappingsOf } from "./release-container.ts";
import { portsOf } from "./release-spec.ts";

type Capabilities = Pick<EngineCapabilities, "port_mappings" | "networks">;
type Settings = Pick<ApplicationSettings, "ports_mappings" | "ports_exposes">;

/**
 * Why an engine that maps no ports cannot run an application with these settings, and what helps. A port of the server
 * that a program without a network of its own listens on itself needs no mapping, so that `4000:4000` with this port in
 * `ports_exposes` is possible.
 */
export function unmappedPorts(
  { ports_mappings, ports_exposes }: Settings,
  { port_mappings, networks }: Capabilities,
  server: string,
): string | undefined {
  if (port_mappings) return undefined;
  const own = networks ? [] : portsOf(ports_exposes, false);
  const pairs = portMappingsOf(ports_mappings);
  const mapped = pairs.find((pair) => pair.serverPort !== pair.containerPort || !own.includes(pair.serverPort));
  if (mapped === undefined) return undefined;
  const { serverPort: port, containerPort } = mapped;
  const pair = `${port}:${containerPort} of ports_mappings`;
  return networks
    ? `The engine of server ${server} maps no ports, so ${pair} cannot be mapped. Clear ports_mappings and reach the application by a domain, or use another server with Docker.`
    : `Server ${server} runs processes, which have its ports themselves, so ${pair} cannot be mapped. Clear ports_mappings, let the program listen on port ${port}, and set ports_exposes to ${port}; or use a server with Docker.`;
}
