import { z } from "zod";

// The part of a compose file that Berth reads. The compose tool reads all of it, so unknown keys are kept.

const Scalar = z.union([z.string(), z.number(), z.boolean(), z.null()]);
const PortNumber = z.union([z.string(), z.number()]);

const Port = z.union([
  PortNumber,
  z.looseObject({ target: PortNumber, published: PortNumber.nullish(), host_ip: z.string().nullish() }),
]);

const Volume = z.union([
  z.string(),
  z.looseObject({
    type: z.string().nullish(),
    source: z.string().nullish(),
    target: z.string(),
    // Not in the compose specification: in this API family, the content that a mounted file is created with.
    content: z.string().nullish(),
    is_directory: z.boolean().nullish(),
    isDirectory: z.boolean().nullish(),
  }),
]);

/** Lists are limited before their items are validated, since an invalid item costs as much as a hundred valid ones. */
const list = <Item extends z.ZodType>(item: Item) => z.array(item).max(LIST_MAX, `At most ${LIST_MAX} entries.`);
const LIST_MAX = 1000;

const Count = z.union([z.string(), z.number()]).nullish();

export const ComposeService = z.looseObject({
  image: z.string().max(1024).nullish(),
  build: z.union([z.string(), z.looseObject({})]).nullish(),
  extends: z.union([z.string(), z.looseObject({})]).nullish(),
  restart: z.union([z.string(), z.boolean()]).nullish(),
  /** Not in the compose specification: excludes the container from the service's status. */
  exclude_from_hc: z.boolean().nullish(),
  // Texts and maps in lists are not in the compose specification, but this API family accepts both.
  environment: z
    .union([z.string(), list(z.union([Scalar, z.record(z.string(), Scalar)])), z.record(z.string(), Scalar)])
    .nullish(),
  ports: list(Port).nullish(),
  expose: list(PortNumber).nullish(),
  volumes: list(Volume).nullish(),
  networks: z.union([list(z.string()), z.record(z.string(), z.unknown())]).nullish(),
  network_mode: z.string().nullish(),
  profiles: list(z.string()).nullish(),
  scale: Count,
  deploy: z
    .looseObject({
      replicas: Count,
      restart_policy: z.looseObject({ condition: z.string().nullish() }).nullish(),
    })
    .nullish(),
});
export type ComposeService = z.infer<typeof ComposeService>;

const Named = z.record(z.string(), z.looseObject({ name: z.string().nullish() }).nullable()).nullish();

export const ComposeDocument = z.looseObject({
  services: z.record(z.string(), ComposeService),
  volumes: Named,
  networks: Named,
});
export type ComposeDocument = z.infer<typeof ComposeDocument>;
