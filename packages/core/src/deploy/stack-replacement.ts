import type { Compose } from "../compose/parse.ts";

export interface StackReplacement {
  /** `candidate_first`: the new containers run beside the old ones until they have the traffic. */
  readonly mode: "candidate_first" | "stop_first";
  /** In a sentence, for people. */
  readonly reason: string;
}

/**
 * Whether the containers of a compose text are stopped before new ones start. Only a container by itself that keeps
 * nothing and holds nothing that there is once may run twice; others would find each other, or write to the same data.
 */
export function stackReplacement({ document, containers }: Pick<Compose, "document" | "containers">): StackReplacement {
  const [container, ...others] = containers;
  if (container === undefined || others.length > 0) {
    return stopFirst("the compose file has several containers, which find each other by their names");
  }
  const { container_name, network_mode } = document.services[container.name] ?? {};
  if (container.volumes.some(({ content }) => content === null)) {
    return stopFirst("its container has volumes, which only one may write to");
  }
  if (container.ports !== null) return stopFirst("its container holds ports of the server, which only one can");
  if (network_mode === "host") return stopFirst("its container is in the server's own network");
  if (container_name) return stopFirst("its container has a fixed name, which only one can have");
  const reason = "The new container starts beside the old one, which stops once the new one has the traffic.";
  return { mode: "candidate_first", reason };
}

const stopFirst = (why: string): StackReplacement => ({
  mode: "stop_first",
  reason: `The old containers stop before the new ones start: ${why}.`,
});
