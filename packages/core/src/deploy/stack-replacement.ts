import type { Compose } from "../compose/parse.ts";

export interface StackReplacement {
  /** `candidate_first`: the new containers run beside the old ones until they have the traffic. */
  readonly mode: "candidate_first" | "stop_first";
  /** In a sentence, for people. */
  readonly reason: string;
}

type Stack = Pick<Compose, "document" | "containers">;

/** How the containers of a compose text are replaced by new ones. */
export function stackReplacement(stack: Stack): StackReplacement {
  const because = stackAloneBecause(stack);
  if (because === undefined) {
    const reason = "The new container starts beside the old one, which stops once the new one has the traffic.";
    return { mode: "candidate_first", reason };
  }
  return { mode: "stop_first", reason: `The old containers stop before the new ones start, since ${because}.` };
}

/**
 * Why the containers of a compose text stop before new ones start, as the end of a sentence. Only a container by itself
 * that keeps nothing and holds nothing that there is once may run twice; others would find each other, or write to the
 * same data.
 */
export function stackAloneBecause({ document, containers }: Stack): string | undefined {
  const [container, ...others] = containers;
  if (container === undefined || others.length > 0) {
    return "the compose file has several containers, which find each other by their names";
  }
  const { container_name, network_mode } = document.services[container.name] ?? {};
  if (container.volumes.some(({ content }) => content === null)) {
    return "its container has volumes, which only one may write to";
  }
  if (container.ports !== null) return "its container holds ports of the server, which only one can";
  if (network_mode === "host") return "its container is in the server's own network";
  return container_name ? "its container has a fixed name, which only one can have" : undefined;
}
