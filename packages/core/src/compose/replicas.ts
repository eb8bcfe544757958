import { recordOf } from "./record.ts";
import { withDefaults } from "./reference.ts";
import type { ComposeDocument, ComposeService } from "./schema.ts";

type Scaled = Pick<ComposeService, "scale" | "deploy">;

/** The number of containers that a service asks for; `undefined` if its value is invalid. */
export function replicasOf({ scale, deploy }: Scaled): number | undefined {
  const numbers = [scale, deploy?.replicas].flatMap((value) => {
    const text = value === undefined || value === null ? "" : withDefaults(String(value)).trim();
    return text === "" ? [] : [Number(text)];
  });
  // Like the compose tool, accepts both keys only with the same value.
  const [first = 1, second = first] = numbers;
  return first === second && Number.isInteger(first) && first >= 0 ? first : undefined;
}

/** The service with the number that it has from the services that it extends, unless it says one. */
export function withInheritedScale(name: string, { services }: Services): ComposeService {
  const own = Object.hasOwn(services, name) ? (services[name] ?? {}) : {};
  const seen = new Set<string>();
  for (let at: unknown = name; typeof at === "string" && Object.hasOwn(services, at) && !seen.has(at); ) {
    seen.add(at);
    const service: ComposeService = services[at] ?? {};
    const replicas = service.deploy?.replicas;
    if (service.scale != null || replicas != null) {
      return { ...own, scale: service.scale, deploy: { ...own.deploy, replicas } };
    }
    at = baseOf(service);
  }
  return own;
}

/** Whether another service has its settings: a name that only one container can have must not be one of them. */
export const isExtended = (name: string, { services }: Services): boolean =>
  Object.values(services).some((service) => baseOf(service) === name);

type Services = Pick<ComposeDocument, "services">;

const baseOf = ({ extends: base }: ComposeService): unknown =>
  typeof base === "string" ? base : recordOf(base).service;

/** The problem as a sentence; `undefined` when valid. Values from variables are checked at the start. */
export function replicasProblem(service: Scaled): string | undefined {
  if (replicasOf(service) !== undefined || hasVariable(service)) return undefined;
  return "scale and deploy.replicas must be one whole number, 0 or more.";
}

const hasVariable = ({ scale, deploy }: Scaled): boolean =>
  [scale, deploy?.replicas].some((value) => typeof value === "string" && value.includes("$"));

/** The name of a container in messages, with its number if the service has several. */
export const containerTitle = ({ name, number }: { readonly name: string; readonly number?: number }): string =>
  number === undefined ? name : `${name}-${number}`;

/** All containers with that name, or the one with the number behind it. */
export function containersNamed<T extends { readonly name: string; readonly number?: number }>(
  containers: readonly T[],
  title: string,
): readonly T[] {
  const ofName = containers.filter(({ name }) => name === title);
  return ofName.length > 0 ? ofName : containers.filter((one) => containerTitle(one) === title);
}

/** Whether a title names one of these services, or one of their containers by its number. */
export const isContainerOf = (names: readonly string[], title: string): boolean =>
  names.includes(title) || names.includes(title.replace(/-\d+$/, ""));
