import { DomainError, type FieldErrors } from "@berth/core";
import { CloudImage, CloudLocation, CloudServerType, CloudSshKey } from "@berth/core/server";
import { z } from "zod";

// Schemas of Hetzner's answers, as documented. Other keys are ignored.

export const Location = CloudLocation;
export const SshKey = CloudSshKey;

// Optional fields must not make the whole list fail.
const { element: Price } = CloudServerType.shape.prices;
const { cpu_type, architecture } = CloudServerType.shape;

export const ServerType = z.object({
  ...CloudServerType.shape,
  cpu_type: cpu_type.catch(undefined),
  architecture: architecture.catch(undefined),
  prices: z.array(
    z.object({
      ...Price.shape,
      included_traffic: Price.shape.included_traffic.catch(undefined),
      price_per_tb_traffic: Price.shape.price_per_tb_traffic.catch(undefined),
    }),
  ),
  // Missing after Hetzner has moved it to `deprecation`.
  deprecated: z.boolean().nullish(),
  deprecation: z.object({ unavailable_after: z.string() }).nullish(),
});

/** Snapshots and the like have no name, flavour or version. */
export const Image = z.object({
  ...CloudImage.shape,
  type: z.string(),
  name: z.string().nullable(),
  os_version: z.string().nullable(),
  deprecated: z.string().nullish(),
});

export const Paged = z.object({
  meta: z.object({ pagination: z.object({ next_page: z.int().nullable() }) }).optional(),
});

export const CreatedSshKey = z.object({ ssh_key: z.object({ id: z.int() }) });

const Server = z.object({
  id: z.int(),
  name: z.string(),
  public_net: z.object({
    ipv4: z.object({ ip: z.string() }).nullish(),
    ipv6: z.object({ ip: z.string() }).nullish(),
  }),
});
export type HetznerServer = z.infer<typeof Server>;
export const CreatedServer = z.object({ server: Server });
export const FoundServers = z.object({ servers: z.array(Server) });

const Refusal = z.object({
  error: z.object({
    code: z.string(),
    message: z.string(),
    details: z
      .object({ fields: z.array(z.object({ name: z.string(), messages: z.array(z.string()).catch([]) })) })
      .nullish()
      .catch(undefined),
  }),
});

/** @throws DomainError `cloud.failed` with the place where the answer is not as documented. */
export function read<T extends z.ZodType>(schema: T, body: unknown, about: string): z.infer<T> {
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const where = issue?.path.map(String).join(".") || "its whole";
  const message = `Hetzner's answer about ${about} does not match its documentation, in ${where}.`;
  throw new DomainError("cloud.failed", message, { cause: parsed.error });
}

/** Why Hetzner refused, as far as its answer says. */
export interface HetznerRefusal {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  /** By Hetzner's own field names. */
  readonly fields: FieldErrors;
}

export function refusalOf(status: number, body: unknown, token: string): HetznerRefusal {
  const parsed = Refusal.safeParse(body);
  if (!parsed.success) return { status, code: "", message: `status ${status}`, fields: {} };
  const { code, message, details } = parsed.data.error;
  const fields = (details?.fields ?? []).map(({ name, messages }) => [
    name,
    messages.map((text) => readable(text, token)),
  ]);
  return { status, code, message: readable(message, token), fields: Object.fromEntries(fields) };
}

const MESSAGE_LENGTH_MAX = 300;

/** A sentence of the provider, made safe for an answer. */
const readable = (text: string, token: string): string =>
  text
    .replaceAll(token, "***")
    .replace(/[\s\p{C}]+/gu, " ")
    .slice(0, MESSAGE_LENGTH_MAX)
    .replace(/[ .]+$/, "");
