import { readLabels } from "../application/container-label.ts";
import { previewName } from "../application/preview.ts";
import { containerPort } from "../compose/container-port.ts";
import { isGiven } from "../compose/given-key.ts";
import { isMade, readMagic } from "../compose/magic-key.ts";
import type { Compose, ComposeContainer } from "../compose/parse.ts";
import { containerNameVariables } from "../compose/render.ts";
import type { DomainClaim } from "../ports/records.ts";
import { addressEnv, withFamilyNames } from "./release-env.ts";
import { HTTP_PORT } from "./site.ts";
import type { StackContainer, StackOptions } from "./stack.ts";
import { type StackMountsSubject, stackMounts } from "./stack-mounts.ts";

export interface StackSubject extends StackMountsSubject {
  readonly owner: { readonly uuid: string; readonly name: string };
  readonly domains: readonly DomainClaim[];
  /** Variables that Berth adds; those of the user override them. */
  readonly given: Env;
  /** `$` in labels is taken literally. */
  readonly isLabelEscaped: boolean;
  /** Networks of the server that its containers join. */
  readonly networks: readonly string[];
}

type Env = Readonly<Record<string, string>>;

/**
 * Start options of a compose file. A variable that the file references is passed where the file says; any other goes
 * to every container. What Berth adds can be referenced too.
 */
export function stackOptions(stack: StackSubject): StackOptions {
  // Earlier versions stored an empty variable for each of these that a compose file names.
  const values = filtered(stack.values, (key) => stack.values[key] !== "" || !isGiven(key));
  const subject = { ...stack, values };
  const { compose, networks } = subject;
  const names = containerNameVariables(compose.containers.map(({ name }) => name));
  const mounts = stackMounts(subject);
  const containers = compose.containers.map(
    (container) =>
      [
        container.name,
        { ...containerOptions(subject, container, names), storages: mounts[container.name] ?? [] },
      ] as const,
  );
  return {
    variables: { ...withFamilyNames(subject.given), ...names, ...values },
    containers: Object.fromEntries(containers),
    networks,
    ...(subject.pullRequestId === 0 ? {} : { scope: previewName(subject.owner.uuid, subject.pullRequestId) }),
  };
}

function containerOptions(
  { owner, compose, values, given, domains, isLabelEscaped, pullRequestId }: StackSubject,
  container: ComposeContainer,
  names: Env,
): Omit<StackContainer, "storages"> {
  const { name } = container;
  const said = new Set((compose.environments.get(name) ?? []).map(({ key }) => key));
  const own = domains.filter((claim) => claim.container === name);
  const alias = `${name}-${owner.uuid}`;
  const usual = {
    ...withFamilyNames({ ...given, BERTH_CONTAINER_NAME: alias, ...addressEnv(own) }),
    ...names,
  };
  return {
    env: {
      ...filtered(usual, (key) => !said.has(key)),
      ...filtered(values, isUnused(compose)),
      // The text after `SERVICE_URL_X=` is the target of the URL, not a value.
      ...filtered(values, (key) => said.has(key) && isMade(key)),
    },
    labels: isLabelEscaped ? literalLabels(compose.document.services[name]?.labels) : {},
    ports: portsOf(compose, container, own),
    networkAliases: pullRequestId === 0 ? [alias] : [],
  };
}

/** Generated variables go only to the containers that name them, so that no other container gets a password. */
function isUnused({ variables }: Compose): (key: string) => boolean {
  const used = new Set(variables.map(({ key }) => key));
  return (key) => !used.has(key) && readMagic(key) === undefined;
}

const filtered = (env: Env, isWanted: (key: string) => boolean): Env =>
  Object.fromEntries(Object.entries(env).filter(([key]) => isWanted(key)));

function portsOf(compose: Compose, container: ComposeContainer, own: readonly DomainClaim[]): readonly number[] {
  if (container.kind === "database" && own.length === 0) return [];
  const port = containerPort(container, compose.urls);
  if (port !== null) return [port];
  return own.length > 0 ? [HTTP_PORT] : [];
}

/** `labels` as a list of `name=value` or a map. */
function literalLabels(labels: unknown): Env {
  if (Array.isArray(labels)) return readLabels(labels.map(String).join("\n"));
  if (typeof labels !== "object" || labels === null) return {};
  return Object.fromEntries(Object.entries(labels).map(([name, value]) => [name, value === null ? "" : String(value)]));
}
