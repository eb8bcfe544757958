import { printable } from "./printable.ts";

/** How an application without a URL gets one. Those of a compose file belong to its containers. */
export const urlRemedy = (name: string, hasContainers: boolean): string =>
  hasContainers
    ? `Give one to a container with: berth domains add ${printable(name)} web=https://example.com:3000, where 3000 is the port that it listens on`
    : `Give it one with: berth domains add ${printable(name)} https://example.com`;
