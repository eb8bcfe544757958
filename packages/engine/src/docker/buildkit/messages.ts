import { fileURLToPath } from "node:url";
import protobuf from "protobufjs";
import { z } from "zod";

/** Encodes and decodes a message in BuildKit's wire format. */
export interface Codec<Message> {
  encode(message: Message): Uint8Array;
  /** @throws Error when the bytes do not encode such a message. */
  decode(bytes: Uint8Array): Message;
}

const root = new protobuf.Root().loadSync(fileURLToPath(new URL("./buildkit.proto", import.meta.url)), {
  keepCase: true,
});

function codecOf<Schema extends z.ZodType<object>>(name: string, schema: Schema): Codec<z.infer<Schema>> {
  const type = root.lookupType(`berth.buildkit.${name}`);
  return {
    encode: (message) => type.encode(message).finish(),
    decode: (bytes) => schema.parse(type.toObject(type.decode(bytes), { defaults: true, arrays: true, longs: Number })),
  };
}

const Texts = z.record(z.string(), z.string());
const Bytes = z.instanceof(Uint8Array);
const Numbers = z.object({ seconds: z.number() }).nullish();

const CacheEntry = z.object({ Type: z.string(), Attrs: Texts });

export const SolveRequest = codecOf(
  "SolveRequest",
  z.object({
    Ref: z.string(),
    Exporter: z.string(),
    ExporterAttrs: Texts,
    Session: z.string(),
    Frontend: z.string(),
    FrontendAttrs: Texts,
    Cache: z.object({ Exports: z.array(CacheEntry) }),
    Entitlements: z.array(z.string()),
  }),
);
export const SolveResponse = codecOf("SolveResponse", z.object({}));
export const StatusRequest = codecOf("StatusRequest", z.object({ Ref: z.string() }));

const Status = z.object({
  vertexes: z.array(
    z.object({
      digest: z.string(),
      name: z.string(),
      cached: z.boolean(),
      started: Numbers,
      completed: Numbers,
      error: z.string(),
    }),
  ),
  logs: z.array(z.object({ vertex: z.string(), stream: z.number(), msg: Bytes })),
});
/** Changed steps of a build, and their output. */
export type Status = z.infer<typeof Status>;
export const StatusResponse = codecOf("StatusResponse", Status);

export const ListWorkersRequest = codecOf("ListWorkersRequest", z.object({}));
export const ListWorkersResponse = codecOf(
  "ListWorkersResponse",
  z.object({ record: z.array(z.object({ Labels: Texts })) }),
);

const Definition = z.object({
  /** Steps, each after its inputs. */
  def: z.array(Bytes),
  /** Metadata by the SHA-256 of the step. */
  metadata: z.record(z.string(), Bytes),
  Source: Bytes.optional(),
});
/** The plan of a build. */
export type Definition = z.infer<typeof Definition>;
const PlanResult = z.object({
  ref: z.object({ id: z.string(), def: Definition.nullish() }).nullish(),
  metadata: z.record(z.string(), Bytes),
});
export const PlanRequest = codecOf(
  "PlanRequest",
  z.object({
    Definition: Definition.optional(),
    Frontend: z.string(),
    FrontendOpt: Texts,
    allowResultReturn: z.boolean(),
    allowResultArrayRef: z.boolean(),
    CacheImports: z.array(CacheEntry),
  }),
);
export const PlanResponse = codecOf("PlanResponse", z.object({ result: PlanResult.nullish() }));
export const ReturnRequest = codecOf("ReturnRequest", z.object({ result: PlanResult }));
export const ReturnResponse = codecOf("ReturnResponse", z.object({}));

const SourceOp = z.object({ identifier: z.string(), attrs: Texts });
/** A source to fetch, such as `https://...`, `docker-image://...` or `local://...`. */
export type SourceOp = z.infer<typeof SourceOp>;
export const PlannedStep = codecOf(
  "PlannedStep",
  z.object({
    inputs: z.array(z.object({ digest: z.string(), index: z.number() })),
    exec: Bytes.optional(),
    source: SourceOp.optional(),
    file: Bytes.optional(),
    build: Bytes.optional(),
    merge: Bytes.optional(),
    diff: Bytes.optional(),
    platform: Bytes.optional(),
    constraints: Bytes.optional(),
  }),
);

/** Only the group of a step that runs a program. Appended to the bytes of one, it replaces the group. */
export const PlannedExec = codecOf("PlannedExec", z.object({ meta: z.object({ cgroupParent: z.string() }).nullish() }));

export const CredentialsRequest = codecOf("CredentialsRequest", z.object({ Host: z.string() }));
export const CredentialsResponse = codecOf(
  "CredentialsResponse",
  z.object({ Username: z.string(), Secret: z.string() }),
);
export const GetSecretRequest = codecOf("GetSecretRequest", z.object({ ID: z.string() }));
export const GetSecretResponse = codecOf("GetSecretResponse", z.object({ data: Bytes }));
export const HealthCheckRequest = codecOf("HealthCheckRequest", z.object({}));
export const HealthCheckResponse = codecOf("HealthCheckResponse", z.object({ status: z.number() }));

const Stat = z.object({
  path: z.string(),
  /** Mode bits of Go's `fs.FileMode`. */
  mode: z.number(),
  size: z.union([z.number(), z.string()]),
  /** Nanoseconds; may exceed the integers that a number holds exactly. */
  modTime: z.union([z.number(), z.string()]),
  linkname: z.string(),
});
export type Stat = z.infer<typeof Stat>;
const Packet = z.object({
  type: z.number(),
  stat: Stat.nullish(),
  ID: z.number().optional(),
  data: Bytes.optional(),
});
export type Packet = z.infer<typeof Packet>;
export const Packets = codecOf("Packet", Packet);
